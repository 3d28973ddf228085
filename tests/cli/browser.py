"""A headless Chromium, driven over pipes by its DevTools protocol: what tests/cli/page.sh looks at pages with. Nothing but Python's own library."""
import base64
import json
import os
import select
import subprocess
import time

ANSWER_S = 300  # for the slowest machine: a wait ends with the answer, or with the browser
PIPE_BYTES = 1 << 20


class Browser:
    """One page of one browser. `complaints`: what its console, its policy and its network said is wrong, since the last call of visit."""

    def __init__(self, program, profile):
        to_browser, self.commands = os.pipe()
        self.events, from_browser = os.pipe()
        arguments = [program, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--no-first-run', '--remote-debugging-pipe',
                     '--user-data-dir=' + profile, 'about:blank']
        self.process = subprocess.Popen(['sh', '-c', f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"', 'browser'] + arguments, pass_fds=(to_browser, from_browser),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session = b'', 0, None
        self.complaints, self.loaded = [], False
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')

    def close(self):
        self.session = None
        try:
            self.call('Browser.close')
        finally:
            self.process.wait(ANSWER_S)

    # --- the protocol: texts that end in a zero byte ---

    def _message(self, deadline):
        while b'\0' not in self.rest:
            if not select.select([self.events], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError('the browser does not answer')
            part = os.read(self.events, PIPE_BYTES)
            if not part:
                raise EOFError('the browser is gone')
            self.rest += part
        text, self.rest = self.rest.split(b'\0', 1)
        return json.loads(text)

    def _note(self, message):
        method, what = message.get('method'), message.get('params', {})
        if method == 'Page.loadEventFired':
            self.loaded = True
        elif method == 'Runtime.exceptionThrown':
            self.complaints.append(what['exceptionDetails'].get('exception', {}).get('description', what['exceptionDetails']['text']))
        elif method == 'Runtime.consoleAPICalled' and what['type'] in ('error', 'warning', 'assert'):
            self.complaints.append(' '.join(str(one.get('value', one.get('description'))) for one in what['args']))
        elif method == 'Log.entryAdded' and what['entry']['level'] in ('error', 'warning'):
            self.complaints.append(what['entry']['text'])
        elif method == 'Network.loadingFailed' and not what.get('canceled'):
            self.complaints.append('not loaded: ' + what['errorText'])

    def call(self, method, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.commands, json.dumps(message).encode() + b'\0')
        deadline = time.monotonic() + ANSWER_S
        while True:
            answer = self._message(deadline)
            if answer.get('id') != self.number:
                self._note(answer)
            elif 'error' in answer:
                raise RuntimeError(f'{method}: {answer["error"]}')
            else:
                return answer['result']

    # --- what a reader does ---

    def look(self, width, height, dark=False, scripts=True):
        """How the next pages are seen."""
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark' if dark else 'light'}])
        self.call('Emulation.setScriptExecutionDisabled', value=not scripts)

    def visit(self, url):
        self.complaints, self.loaded = [], False
        self.call('Page.navigate', url=url)
        deadline = time.monotonic() + ANSWER_S
        while not self.loaded:
            self._note(self._message(deadline))

    def ask(self, expression):
        """A JavaScript expression's value; also where the page's own scripts are off."""
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(f'{expression}: {result["exceptionDetails"]}')
        return result['result'].get('value')

    def wait(self, expression):
        """Until it holds."""
        deadline = time.monotonic() + ANSWER_S
        while not self.ask(expression):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    KEYS = {'Tab': 9, 'Enter': 13, 'End': 35, 'Home': 36, 'ArrowLeft': 37, 'ArrowRight': 39}

    def press(self, key, alt=False):
        code = self.KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
        event = {'key': key, 'code': key if len(key) > 1 else 'Key' + key.upper(), 'windowsVirtualKeyCode': code, 'modifiers': 1 if alt else 0}
        text = {'text': '\r'} if key == 'Enter' else {'unmodifiedText': key} if alt else {}
        self.call('Input.dispatchKeyEvent', type='keyDown', **event, **text)
        self.call('Input.dispatchKeyEvent', type='keyUp', **event)

    def picture(self, path, whole=False):
        """What is seen, or the whole page, as PNG."""
        data = self.call('Page.captureScreenshot', captureBeyondViewport=whole, **({'clip': dict(x=0, y=0, scale=1, **self.size())} if whole else {}))['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(data))

    def size(self):
        box = self.call('Page.getLayoutMetrics')['cssContentSize']
        return {'width': box['width'], 'height': box['height']}
