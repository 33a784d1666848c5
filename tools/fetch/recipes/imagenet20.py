"""20 labelled photographs, and 16 others for calibrating a quantiser in the folder `calibration`.

    imagenet20.py OUT_FOLDER FOOLBOX_WHEEL SCIKIT_IMAGE_WHEEL

The class number is at the end of each labelled file's name: imagenet_07_281.jpg. The others have no
label and none of them is among the 20.
"""
import pathlib
import sys
import zipfile

LABELLED = "foolbox/data/imagenet_"
OTHERS = ["astronaut.png", "brick.png", "camera.png", "chelsea.png", "coffee.png", "coins.png",
          "color.png", "grass.png", "gravel.png", "hubble_deep_field.jpg", "ihc.png", "moon.png",
          "motorcycle_left.png", "motorcycle_right.png", "retina.jpg", "rocket.jpg"]


def main(out, foolbox, scikit_image):
    folder = pathlib.Path(out)
    (folder / "calibration").mkdir(parents=True)
    with zipfile.ZipFile(foolbox) as archive:
        for name in archive.namelist():
            if name.startswith(LABELLED):
                (folder / pathlib.PurePosixPath(name).name).write_bytes(archive.read(name))
    with zipfile.ZipFile(scikit_image) as archive:
        for name in OTHERS:
            path = folder / "calibration" / name
            path.write_bytes(archive.read("skimage/data/" + name))


if __name__ == "__main__":
    main(*sys.argv[1:])
