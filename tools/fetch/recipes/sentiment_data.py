"""Labelled snippets of product and film reviews: test.tsv and calibration.tsv.

    sentiment_data.py OUT_FOLDER SDIST     the source package of vaderSentiment

A snippet with a positive mean rating is 1, a negative one 0; those of exactly 0 are left out. The
snippets are shuffled with NumPy's legacy generator, seed 0, as when the model's head was trained on
the first ones: test.tsv has only snippets that the training did not see, calibration.tsv only
snippets that it did.
"""
import io
import pathlib
import random
import sys
import tarfile

INNER = "additional_resources/hutto_ICWSM_2014.tar.gz"
AMAZON, MOVIE = "amazonReviewSnippets_GroundTruth.txt", "movieReviewSnippets_GroundTruth.txt"
AMAZON_TRAINED, MOVIE_TRAINED, MOVIE_USED = 2700, 3000, 4000
CALIBRATION_EACH = 256


class LegacyNumpyRandom:
    """numpy.random.RandomState(seed).permutation, on the Mersenne Twister that Python has too."""

    def __init__(self, seed):
        state = [seed]
        for i in range(1, 624):
            state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + i) % 2**32)
        self._twister = random.Random()
        self._twister.setstate((3, (*state, 624), None))

    def permutation(self, count):
        order = list(range(count))
        for i in range(count - 1, 0, -1):
            j = self._up_to(i)
            order[i], order[j] = order[j], order[i]
        return order

    def _up_to(self, most):
        mask = (1 << most.bit_length()) - 1
        while True:
            value = self._twister.getrandbits(32) & mask
            if value <= most:
                return value


def read_snippets(archive, name):
    (member,) = [each for each in archive.getnames() if each.endswith("/" + name)]
    snippets = []
    for line in archive.extractfile(member).read().decode("latin-1").split("\n"):
        fields = line.split("\t")
        if len(fields) >= 3 and float(fields[1]) != 0:
            snippets.append((int(float(fields[1]) > 0), fields[2].rstrip("\r")))
    return snippets


def write(path, snippets):
    text = "".join(f"{label}\t{text}\n" for label, text in snippets)
    path.write_text(text, encoding="utf-8", newline="\n")


def main(out, sdist):
    with tarfile.open(sdist) as package:
        (inner,) = [each for each in package.getnames() if each.endswith(INNER)]
        packed = package.extractfile(inner).read()
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        amazon, movie = read_snippets(archive, AMAZON), read_snippets(archive, MOVIE)
    shuffle = LegacyNumpyRandom(0)
    amazon = [amazon[i] for i in shuffle.permutation(len(amazon))]
    movie = [movie[i] for i in shuffle.permutation(len(movie))][:MOVIE_USED]
    folder = pathlib.Path(out)
    folder.mkdir()
    write(folder / "test.tsv", amazon[AMAZON_TRAINED:] + movie[MOVIE_TRAINED:])
    write(folder / "calibration.tsv", amazon[:CALIBRATION_EACH] + movie[:CALIBRATION_EACH])


if __name__ == "__main__":
    main(*sys.argv[1:])
