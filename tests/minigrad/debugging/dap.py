"""A small client of the Debug Adapter Protocol: what an editor such as VS Code says to debugpy.

Source: the protocol's specification, microsoft.github.io/debug-adapter-protocol.
"""

import json
import os
import queue
import subprocess
import sys
import threading

TIMEOUT = 180


class Client:
    """A debug adapter in a process of its own, spoken to over its standard input and output."""

    def __init__(self):
        self.adapter = subprocess.Popen(
            [sys.executable, "-m", "debugpy.adapter"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={
                **os.environ,
                "DEBUGPY_PROCESS_SPAWN_TIMEOUT": str(TIMEOUT),
            },  # its own limit is short on a busy machine
        )
        self.messages = queue.Queue()
        self.waiting = []
        self.count = 0
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while header := self.adapter.stdout.readline():
            length = int(header.split(b":")[1])
            self.adapter.stdout.readline()
            self.messages.put(json.loads(self.adapter.stdout.read(length)))

    def send(self, command, **arguments):
        self.count += 1
        message = {"seq": self.count, "type": "request", "command": command, "arguments": arguments}
        content = json.dumps(message).encode()
        self.adapter.stdin.write(b"Content-Length: %d\r\n\r\n" % len(content) + content)
        self.adapter.stdin.flush()
        return self.count

    def wait(self, matches):
        """The first message, of those that came already or will come, that matches; the others are kept."""
        for message in self.waiting:
            if matches(message):
                self.waiting.remove(message)
                return message
        while True:
            message = self.messages.get(timeout=TIMEOUT)
            if matches(message):
                return message
            self.waiting.append(message)

    def event(self, name):
        return self.wait(lambda message: message.get("event") == name).get("body", {})

    def response(self, number):
        message = self.wait(lambda message: message.get("request_seq") == number)
        assert message["success"], message
        return message.get("body", {})

    def request(self, command, **arguments):
        return self.response(self.send(command, **arguments))

    def launch(self, program, lines=(), functions=()):
        """Start a program as launch.json says, with breakpoints: (file, line) and {"name": ..., "condition": ...}."""
        self.request("initialize", adapterID="debugpy", pathFormat="path", linesStartAt1=True, columnsStartAt1=True)
        launched = self.send(
            "launch", program=str(program), python=[sys.executable], console="internalConsole", justMyCode=False
        )
        self.event("initialized")
        for file, line in lines:
            self.request("setBreakpoints", source={"path": str(file)}, breakpoints=[{"line": line}])
        self.request("setFunctionBreakpoints", breakpoints=list(functions))
        self.request("configurationDone")
        self.response(launched)

    def stopped(self):
        """Wait until the program stops; returns its frames, the innermost first."""
        self.thread = self.event("stopped")["threadId"]
        return self.request("stackTrace", threadId=self.thread)["stackFrames"]

    def go(self, command):
        """continue, next or stepIn; returns the frames at the next stop."""
        self.request(command, threadId=self.thread)
        return self.stopped()

    def variables(self, frame):
        """The local variables of a frame, as the variables pane lists them: a name, a text, and what is inside."""
        scopes = self.request("scopes", frameId=frame["id"])["scopes"]
        return self.inside(scopes[0]["variablesReference"])

    def inside(self, reference):
        found = self.request("variables", variablesReference=reference)["variables"]
        return {variable["name"]: variable for variable in found}

    def close(self):
        self.request("disconnect", terminateDebuggee=True)
        self.adapter.stdin.close()
        self.adapter.wait(timeout=TIMEOUT)
        self.reader.join()
        self.adapter.stdout.close()
