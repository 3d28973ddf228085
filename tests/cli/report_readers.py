#!/usr/bin/env python3
"""Has the programs that reports are made for read them, each started here, on loopback, with a folder of its own:

    report_readers.py promtool REPORT
    report_readers.py victoriametrics|victoriametrics-influx|victoriametrics-prometheus REPORT RESULT
    report_readers.py influxdb REPORT RESULT
    report_readers.py junitparser REPORT RESULT
    report_readers.py compare REPORT RESULT        Google Benchmark's compare.py
    report_readers.py jsonschema REPORT            Bencher's own schema

Exit status 0: read, and all figures are there; 1: a line says what is wrong; 77: the program is not installed."""
import json, math, os, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.error, urllib.parse, urllib.request

import reports
from report_documents import Wrong, figures_of, load, must
from report_pages import flat

MISSING = 77
BENCHMARK = '/usr/share/benchmark'


def program(name):
    path = shutil.which(name)
    if not path:
        print(f'{name} is not installed')
        sys.exit(MISSING)
    return path


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def ask(url, data=None, **query):
    if query:
        url += '?' + urllib.parse.urlencode(query)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, data), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Server:
    """A program that listens; it is gone when the block ends."""

    def __init__(self, port, command, environment, ready):
        self.url, self.ready = f'http://127.0.0.1:{port}', ready
        self.process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        for _ in range(300):
            try:
                if ask(self.url + self.ready)[0] < 400:
                    return self
            except OSError:
                must(self.process.poll() is None, 'the server ended')
            time.sleep(0.1)
        raise Wrong('the server does not answer')

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def bytes_of(path):
    with open(path, 'rb') as file:
        return file.read()


def promtool(report):
    done = subprocess.run([program('promtool'), 'check', 'metrics'], input=bytes_of(report), capture_output=True)
    must(not done.returncode, (done.stdout + done.stderr).decode())


def same(found, documents, names, lossy=lambda text: text):
    """found: {id: {figure: value}}; names: the figures that are looked for."""
    expected = {lossy(id): figures for id, figures in figures_of(documents).items()}
    must(found.keys() == expected.keys(), f'cases: {found.keys() ^ expected.keys()}')
    for id, figures in expected.items():
        for name in names:
            must((name in figures) == (name in found[id]), f'{id}: {name}')
            must(name not in figures or math.isclose(figures[name], found[id][name], rel_tol=1e-9), f'{id}: {name} is {found[id].get(name)}, not {figures.get(name)}')


def victoriametrics(report, result, path, metrics, lossy):
    documents = [load(result)]
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        command = [program('victoria-metrics'), f'-storageDataPath={folder}', f'-httpListenAddr=127.0.0.1:{port}', '-retentionPeriod=100y', '-memory.allowedBytes=128MB']
        with Server(port, command, {}, '/health') as server:
            status, answer = ask(server.url + path, bytes_of(report))
            must(status in (200, 204), f'{status} {answer}')
            found = {}
            for _ in range(100):  # what was taken shows a moment later
                ask(server.url + '/internal/force_flush')
                found = {}
                for name, (figure, unit) in metrics.items():
                    for line in ask(server.url + '/api/v1/export', **{'match[]': name})[1].splitlines():
                        one = json.loads(line)
                        found.setdefault(one['metric']['id'], {})[figure] = one['values'][-1] * unit
                if len(found) == len(figures_of(documents)):
                    break
                time.sleep(0.1)
            same(found, documents, [figure for figure, _ in metrics.values()], lossy)
            if path == '/api/v1/import':
                times = {t for line in ask(server.url + '/api/v1/export', **{'match[]': 'tbench_kernels'})[1].splitlines() for t in json.loads(line)['timestamps']}
                must(len(times) == 1 and time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(times.pop() / 1000)) == documents[0]['started'], 'the time of the run')


def lossy_influx(text):
    return text.replace('\\', '/').replace('\n', ' ').replace('\t', ' ')


INFLUX_FIELDS = {'steady_ns': ('steady', 1), 'speedup_ratio': ('speedup', 1), 'kernels': ('kernels', 1), 'library_calls': ('library_calls', 1)}


def influxdb(report, result):
    documents = [load(result)]
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        environment = {'INFLUXDB_HTTP_BIND_ADDRESS': f'127.0.0.1:{port}', 'INFLUXDB_BIND_ADDRESS': f'127.0.0.1:{free_port()}', 'INFLUXDB_META_DIR': f'{folder}/meta',
                       'INFLUXDB_DATA_DIR': f'{folder}/data', 'INFLUXDB_DATA_WAL_DIR': f'{folder}/wal', 'INFLUXDB_REPORTING_DISABLED': 'true', 'HOME': folder}
        open(f'{folder}/none.conf', 'w').close()
        with Server(port, [program('influxd'), '-config', f'{folder}/none.conf'], environment, '/ping') as server:
            ask(server.url + '/query', b'', q='CREATE DATABASE b')
            status, answer = ask(server.url + '/write', bytes_of(report), db='b', precision='ns')
            must(status == 204, f'{status} {answer}')
            answer = json.loads(ask(server.url + '/query', db='b', epoch='s', q='SELECT * FROM tbench WHERE ok = true')[1])['results'][0]
            must('series' in answer, f'{answer}')
            series = answer['series'][0]
            found = {}
            for row in series['values']:
                one = dict(zip(series['columns'], row))
                must(time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(one['time'])) == documents[0]['started'], 'the time of the run')
                found[one['id']] = {figure: one[field] for field, (figure, _) in INFLUX_FIELDS.items() if one.get(field) is not None}
            same(found, documents, [figure for figure, _ in INFLUX_FIELDS.values()], lossy_influx)


def junitparser(report, result):
    try:
        from junitparser import JUnitXml
    except ImportError:
        print('junitparser is not installed')
        sys.exit(MISSING)
    kinds = {}
    for suite in JUnitXml.fromfile(report):
        for test in suite:
            kinds[test.name] = type(test.result[0]).__name__ if test.result else 'passed'
    outcomes = {'ok': 'passed', 'wrong': 'Failure', 'unsupported': 'Skipped'}
    expected = {flat(one['id']): outcomes.get(one['outcome'], 'Error') for one in load(result)['cases']}
    must(kinds == expected, f'{kinds}, not {expected}')


# compare.py needs two functions of large libraries; these stand in where they are not installed. Nothing here is the reader itself.
STAND_IN = {'scipy/__init__.py': '', 'numpy/__init__.py': 'class array(list):\n    def any(self): return any(self)\n',
            'scipy/stats.py': 'import math\nfrom numpy import array\n'
                              'def gmean(rows): return array(math.exp(sum(math.log(r[i]) for r in rows) / len(rows)) for i in range(len(rows[0])))\n'
                              'def mannwhitneyu(*_, **__): raise NotImplementedError\n'}


def compare(report, result):
    folder = os.environ.get('GOOGLE_BENCHMARK_TOOLS', BENCHMARK)
    if not os.path.exists(f'{folder}/compare.py'):
        print(f'{folder}/compare.py is not installed')
        sys.exit(MISSING)
    with tempfile.TemporaryDirectory() as scratch:
        environment = dict(os.environ)
        if subprocess.run([sys.executable, '-c', 'import scipy.stats, numpy'], capture_output=True).returncode:
            for name, text in STAND_IN.items():
                os.makedirs(os.path.dirname(f'{scratch}/{name}'), exist_ok=True)
                with open(f'{scratch}/{name}', 'w') as file:
                    file.write(text)
            environment['PYTHONPATH'] = scratch
        command = [sys.executable, f'{folder}/compare.py', '--no-color', '--no-utest', '-d', f'{scratch}/out.json', 'benchmarks', report, report]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        must(not done.returncode, done.stdout + done.stderr)
        with open(f'{scratch}/out.json') as file:
            rows = {row['name']: row for row in json.load(file)}
    for id, figures in figures_of([load(result)]).items():
        row = rows.get(f'{id}_median')
        must(row and math.isclose(row['measurements'][0]['real_time'], figures['steady'], rel_tol=1e-12) and row['measurements'][0]['time'] == 0, f'{id}: {row}')


# https://bencher.dev/bmf.json
BENCHER = {'type': 'object', 'patternProperties': {'.+': {'type': 'object', 'patternProperties': {'.+': {
    'type': 'object', 'properties': {'value': {'type': 'number'}, 'lower_value': {'type': 'number'}, 'upper_value': {'type': 'number'}}, 'required': ['value']}}}}}


def jsonschema(report):
    try:
        import jsonschema as reader
    except ImportError:
        print('jsonschema is not installed')
        sys.exit(MISSING)
    try:
        reader.Draft7Validator(BENCHER).validate(json.loads(bytes_of(report)))
    except reader.ValidationError as error:
        raise Wrong(error.message)


def main(reader, report, *result):
    if reader.startswith('victoriametrics'):
        kind = reader[len('victoriametrics'):].lstrip('-')
        metrics = {name: reports.METRICS[name] for name in ('tbench_steady_seconds', 'tbench_speedup_ratio', 'tbench_kernels', 'tbench_library_calls')}
        if kind == 'influx':
            metrics = {f'tbench_{field}': figure for field, figure in INFLUX_FIELDS.items()}
        path = {'influx': '/write', 'prometheus': '/api/v1/import/prometheus'}.get(kind, '/api/v1/import')
        victoriametrics(report, *result, path, metrics, lossy_influx if kind == 'influx' else lambda text: text)
    else:
        globals()[reader](report, *result)


if __name__ == '__main__':
    try:
        main(*sys.argv[1:])
    except Wrong as error:
        sys.exit(f'{sys.argv[1]}: {error}')
