"""The smallest server of the Open Inference Protocol, for the conformance suite: a model "own", x FP32
[-1,4] -> y FP32 [-1,4], twice x, in JSON. Says its URL when it listens."""
import http.server
import json

METADATA = {"name": "own", "platform": "test",
            "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}],
            "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 4]}]}
ANSWERS = {"/v2": {"name": "own", "version": "1", "extensions": []}, "/v2/health/live": {},
           "/v2/health/ready": {}, "/v2/models/own": METADATA, "/v2/models/own/ready": {}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # an answer leaves in one piece

    def reply(self, answer, status=200):
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        answer = ANSWERS.get(self.path)
        self.reply({"error": "unknown"} if answer is None else answer, 404 if answer is None else 200)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if "Inference-Header-Content-Length" in self.headers:
            return self.reply({"error": "no bytes here"}, 400)
        asked = json.loads(body)
        x = asked["inputs"][0]
        y = {"name": "y", "datatype": "FP32", "shape": x["shape"], "data": [2 * v for v in x["data"]]}
        return self.reply({"model_name": "own", "id": asked["id"], "outputs": [y]})

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"Listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
