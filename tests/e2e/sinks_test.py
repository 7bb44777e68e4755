"""Alerts on their way out: a command, a webhook (https, with a token), the real Alertmanager; all of them dead; the daemon
killed while an alert fires; configurations that make no sense."""
import http.server
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import threading
import unittest
import urllib.error
import urllib.request

from e2e import E2eTest, LONG, MARGAY, end_process, free_port, plant, read_text, wait_for

ALERTMANAGER = shutil.which("prometheus-alertmanager")
OPENSSL = shutil.which("openssl")


class Receiver:
    """An HTTP server that keeps what it was sent."""

    def __init__(self, test, certificate=None):
        receiver = self
        self.got, self.tokens = [], set()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append(json.loads(body))
                receiver.tokens.add(self.headers["Authorization"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        scheme, host = ("https", "localhost") if certificate else ("http", "127.0.0.1")
        self.url = f"{scheme}://{host}:{self.server.server_port}"
        thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        thread.start()
        test.addCleanup(thread.join)
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)

    def told(self, alert):
        """The statuses of it that came."""
        return [a["status"] for a in self.got if a["id"] == alert["id"]]


class Alertmanager:
    """The real one, in a place and on a port of its own, without its cluster."""

    def __init__(self, test):
        config = os.path.join(test.place, "am.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("route: {receiver: none}\nreceivers: [{name: none}]\n")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        with open(os.path.join(test.place, "am.log"), "wb") as log:
            self.process = subprocess.Popen(
                [ALERTMANAGER, "--config.file=" + config, "--storage.path=" + os.path.join(test.place, "am"),
                 f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=", "--log.level=warn"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        test.addCleanup(self.end)
        wait_for(lambda: self.get("/-/ready") is not None, "Alertmanager")

    def end(self):
        self.process.terminate()
        self.process.wait(LONG)

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=LONG) as answer:
                return answer.read().decode()
        except (urllib.error.URLError, ConnectionError):
            return None

    def alerts(self):
        return json.loads(self.get("/api/v2/alerts"))


class SinksPlace(E2eTest):
    """What tests of sinks share."""
    def setUp(self):
        super().setUp()
        # What is on this machine is not reached through somebody's proxy.
        self.environment |= {"no_proxy": "127.0.0.1,localhost"}

    def config(self, **keys):
        path = self.written("margay.toml", "[alerts]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in keys.items()))
        return path

    def command(self, text):
        """A shell script that gets the place as $1."""
        return ["sh", "-c", text, "sh", self.place]

    def counters(self, run):
        return {c["name"]: c for c in run.status().get("counters", [])}

    def stop_a_rank(self, run):
        """Until resume(): one alert."""
        ranks = run.ranks("margay-workload", 2)
        run.wait_for_slices(10)
        self.stopped = ranks[1]
        os.kill(self.stopped, signal.SIGSTOP)
        self.addCleanup(self.resume)
        return wait_for(lambda: run.firing(), "the alert")[0]

    def resume(self):
        if plant.state_of(self.stopped) == "T":
            os.kill(self.stopped, signal.SIGCONT)

    def end_job(self, run):
        """mpirun's own way: it ends its ranks."""
        (mpirun,) = [p for p in plant.descendants(run.pid) if os.path.basename(os.readlink(f"/proc/{p}/exe")) in
                     ("orterun", "prterun", "mpirun")]
        end_process(mpirun, signal.SIGTERM)
        return run.wait()

    def job(self):
        return self.workload("--plan", "A:600", ranks=2)


class Sinks(SinksPlace):
    @unittest.skipUnless(OPENSSL, "openssl is missing")
    def test_every_sink_has_the_alert_and_its_end(self):
        certificate = [os.path.join(self.place, name) for name in ("cert.pem", "key.pem")]
        subprocess.run([OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-out",
                        certificate[0], "-keyout", certificate[1]], check=True, capture_output=True, timeout=LONG)
        webhook = Receiver(self, certificate)
        manager = Alertmanager(self) if ALERTMANAGER else None
        headers = os.path.join(self.place, "headers")
        with open(os.open(headers, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write("Authorization: Bearer of-good-news\n")
        config = self.config(
            command=self.command('cat >>$1/told; echo "$MARGAY_ALERT_STATUS $MARGAY_ALERT_MESSAGE" >>$1/said'),
            webhook=webhook.url + "/hook", webhook_headers=headers, ca_file=certificate[0],
            **({"alertmanager": manager.url} if manager else {}))
        run = self.run_margay(self.job(), flags=["--config", config])
        alert = self.stop_a_rank(run)
        wait_for(lambda: webhook.told(alert) == ["firing"], "the webhook")
        if manager:
            (there,) = wait_for(manager.alerts, "Alertmanager")
            labels = {"alertname": "MargayPerturbation", "kind": "perturbation", "severity": "warning",
                      "run": run.name, "node": alert["node"], "alert_id": alert["id"]}
            self.assertEqual(there["labels"], labels)
            self.assertEqual(there["annotations"]["summary"], alert["message"])
        self.resume()
        wait_for(lambda: webhook.told(alert) == ["firing", "resolved"], "the end")
        if manager:
            wait_for(lambda: manager.alerts() == [], "the end at Alertmanager")
        sinks = 3 if manager else 2
        counters = wait_for(lambda: (c := self.counters(run)) and c["alerts_sent"]["value"] == sinks * len(run.alerts) and c,
                            "the count")
        self.assertEqual((counters["alerts_not_sent"]["value"], counters["alerts_waiting"]["value"]), (0, 0))
        self.end_job(run)
        self.assertEqual(webhook.got, run.alerts)  # to the letter
        self.assertEqual(webhook.tokens, {"Bearer of-good-news"})
        told = [json.loads(line) for line in read_text(os.path.join(self.place, "told")).splitlines()]
        self.assertEqual(told, run.alerts)
        said = read_text(os.path.join(self.place, "said")).splitlines()
        self.assertEqual(said, [f"{a['status']} {a['message']}" for a in run.alerts])
        sent = [json.loads(line) for line in read_text(os.path.join(run.archive, "alerts.sent")).splitlines()]
        self.assertEqual(sum(line.get("fate") == "sent" for line in sent), sinks * len(run.alerts))
        for path in (os.path.join(run.archive, "log"), os.path.join(run.archive, "alerts.sent")):
            self.assertNotIn("of-good-news", read_text(path))
        # What the sinks left in the archive goes with it.
        done = subprocess.run([MARGAY, "archive", "rm", "--force", run.archive], env=self.environment, capture_output=True,
                              text=True, timeout=LONG, check=False)
        self.assertEqual((done.returncode, os.path.exists(run.archive)), (0, False), done.stderr)

    def test_a_command_that_says_a_lot_runs_once(self):
        script = 'cat >/dev/null; echo run >>$1/runs; head -c 400000 /dev/zero | tr "\\0" x | cat >&2 && echo whole >>$1/whole'
        run = self.run_margay(self.job(), flags=["--config", self.config(command=self.command(script))])
        self.stop_a_rank(run)
        wait_for(lambda: self.counters(run).get("alerts_sent", {}).get("value", 0) >= 1, "the count")
        self.resume()
        counters = wait_for(lambda: (c := self.counters(run)) and c["alerts_sent"]["value"] == len(run.alerts) >= 2 and c,
                            "the end")
        self.assertEqual(counters["alerts_send_errors"]["value"], 0)
        for name in ("runs", "whole"):
            self.assertEqual(len(read_text(os.path.join(self.place, name)).splitlines()), len(run.alerts), name)
        self.end_job(run)

    def test_sinks_that_are_dead_cost_the_job_nothing(self):
        config = self.config(command=["sleep", "600"], webhook=f"http://127.0.0.1:{free_port()}/secret-path",
                             alertmanager=f"http://127.0.0.1:{free_port()}", time_limit="200ms")
        run = self.run_margay(self.job(), flags=["--config", config])
        self.stop_a_rank(run)
        wait_for(lambda: self.counters(run).get("alerts_send_errors", {}).get("value", 0) >= 6, "failures")
        self.resume()
        wait_for(lambda: len(run.alerts) == 2, "the end of the alert")
        page = subprocess.run([MARGAY, "status", run.name], env=self.environment, capture_output=True, text=True,
                              timeout=LONG, check=False).stdout
        self.assertIn("alerts_send_errors", page)
        self.assertEqual(run.status()["health"]["state"], "healthy", "what is tried again is not lost")
        self.end_job(run)
        self.check_conservation(run, 2, lossless=False)
        log = read_text(os.path.join(run.archive, "log"))
        self.assertRegex(log, r"alerts: webhook \(http://127.0.0.1:\d+\): .*connect.*; it is tried again")
        self.assertIn("alerts: command (sleep): took too long and was killed; it is tried again", log)
        self.assertEqual(len(re.findall("alerts: (?:command|webhook|alertmanager) .* given up on .*; the archive has them",
                                        log)), 3, log)
        self.assertNotIn("secret-path", log)

    def test_a_daemon_that_is_killed_sends_nothing_twice_and_forgets_nothing(self):
        webhook = Receiver(self)
        manager = Alertmanager(self) if ALERTMANAGER else None
        config = self.config(webhook=webhook.url, **({"alertmanager": manager.url} if manager else {}))
        run = self.run_margay(self.job(), flags=["--config", config])
        alert = self.stop_a_rank(run)
        wait_for(lambda: webhook.told(alert) == ["firing"], "the webhook")
        wait_for(lambda: self.counters(run).get("alerts_sent", {}).get("value") == (2 if manager else 1), "the count")
        before = wait_for(manager.alerts, "Alertmanager") if manager else []
        daemon = run.child("margayd")
        end_process(daemon, signal.SIGKILL)
        wait_for(lambda: run.child("margayd") not in (None, daemon), "another daemon")
        wait_for(lambda: self.counters(run).get("restarts", {}).get("value") == 1, "it answers")
        if manager:  # is told again that it fires, and takes it for the same
            wait_for(lambda: (now := manager.alerts()) and now[0]["updatedAt"] > before[0]["updatedAt"], "Alertmanager")
            self.assertEqual([a["fingerprint"] for a in manager.alerts()], [before[0]["fingerprint"]])
        self.resume()
        wait_for(lambda: "resolved" in webhook.told(alert), "the end")
        if manager:
            wait_for(lambda: manager.alerts() == [], "the end at Alertmanager")
        self.end_job(run)
        self.assertEqual(webhook.told(alert), ["firing", "resolved"])

    def test_a_configuration_that_makes_no_sense_is_refused_with_its_place(self):
        for keys, said in (
                ({"webhook": "localhost:80"}, "margay.toml:2: alerts.webhook: expected an http:// or https:// URL"),
                ({"alertmanager": "ftp://h"}, "margay.toml:2: alerts.alertmanager: expected an http"),
                ({"webhook": "http://h", "webhook_headers": "/no/such/file"}, "margay.toml: alerts.webhook: /no/such/file: No such"),
                ({"webhook_headers": "/x"}, "margay.toml:2: alerts.webhook_headers: there is no URL to send them to"),
                ({"command": "mail me"}, "margay.toml:2: alerts.command: expected a list of texts"),
                ({"command": ["no-such-program"]}, "margay.toml: alerts.command: 'no-such-program' is no program")):
            config = self.config(**keys)
            done = subprocess.run([MARGAY, "run", "--config", config, "--", "touch", os.path.join(self.place, "ran")],
                                  env=self.environment, cwd=self.place, capture_output=True, text=True, timeout=LONG,
                                  check=False)
            self.assertEqual(done.returncode, 2, keys)
            self.assertIn(said, done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.place, "ran")))


if __name__ == "__main__":
    unittest.main()
