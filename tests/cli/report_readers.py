#!/usr/bin/env python3
"""Has the programs that reports are made for read them, each started here, on loopback, with a folder of its own:

    report_readers.py promtool REPORT
    report_readers.py victoriametrics|victoriametrics-influx|victoriametrics-prometheus REPORT RESULT
    report_readers.py influxdb REPORT RESULT
    report_readers.py junitparser REPORT RESULT
    report_readers.py compare REPORT RESULT        Google Benchmark's compare.py
    report_readers.py jsonschema REPORT            Bencher's own schema
    report_readers.py lnt REPORT RESULT            LNT's server (PyPI: llvm-lnt)
    report_readers.py clickhouse REPORT RESULT     ClickHouse, with a table like that of PyTorch's dashboard (PyPI: chdb)

Exit status 0: read, and all figures are there; 1: a line says what is wrong; 77: the program is not installed. Those of PyPI are tried where
they are: python3 -m venv --system-site-packages V && V/bin/pip install llvm-lnt chdb && PATH=$PWD/V/bin:$PATH make check TEST_FILTER=…"""
import json, math, os, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.error, urllib.parse, urllib.request

import reports
from report_documents import Wrong, figures_of, load, must, short
from report_pages import flat

MISSING = 77
PATIENCE_S = 300  # for the slowest machine: a wait ends with what it waits for
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


def ask(url, data=None, headers={}, **query):
    if query:
        url += '?' + urllib.parse.urlencode(query)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, data, headers), timeout=PATIENCE_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Server:
    """A program that listens; it is gone when the block ends."""

    def __init__(self, port, command, environment, ready):
        self.url, self.ready = f'http://127.0.0.1:{port}', ready
        self.process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
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
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def bytes_of(path):
    with open(path, 'rb') as file:
        return file.read()


def promtool(report):
    done = subprocess.run([program('promtool'), 'check', 'metrics'], input=bytes_of(report), capture_output=True)
    must(not done.returncode, (done.stdout + done.stderr).decode())


def same(found, documents, names, lossy=short):
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
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end:  # what was taken shows a moment later
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
            cut = {}  # of the run, and of each case
            for name in ('tbench_run_complete', 'tbench_complete' if path == '/write' else 'tbench_case_complete'):
                for line in ask(server.url + '/api/v1/export', **{'match[]': name})[1].splitlines():
                    one = json.loads(line)
                    cut[one['metric'].get('id')] = one['values'][-1]
            reports.must_complete([cut.pop(None)], cut, documents, lossy)
            if path == '/api/v1/import':
                times = {t for line in ask(server.url + '/api/v1/export', **{'match[]': 'tbench_kernels'})[1].splitlines() for t in json.loads(line)['timestamps']}
                must(len(times) == 1 and time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(times.pop() / 1000)) == documents[0]['started'], 'the time of the run')


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
            same(found, documents, [figure for figure, _ in INFLUX_FIELDS.values()], reports.lossy_influx)
            complete = {one['id']: one['complete'] for row in series['values'] if (one := dict(zip(series['columns'], row)))['complete'] is not None}
            runs = json.loads(ask(server.url + '/query', db='b', q='SELECT complete FROM tbench_run')[1])['results'][0]['series'][0]['values']
            reports.must_complete([run[1] for run in runs], complete, documents, reports.lossy_influx)


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
        row = rows.get(f'{short(id)}_median')
        must(row and math.isclose(row['measurements'][0]['real_time'], figures['steady'], rel_tol=1e-12) and row['measurements'][0]['time'] == 0, f'{id}: {row}')


def replicates(one, part):
    """Values of the repetitions of a case's times, in nanoseconds; without them the median."""
    return [each['median_ns'] for each in one[part].get('replicates', ())] or [one[part]['median_ns']]


def lnt(report, result):
    document, token = load(result), 'secret'
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program('lnt'), 'create', f'{folder}/instance', '--api-auth-token', token], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port, api = free_port(), '/api/db_default/v4/nts'
        with Server(port, ['lnt', 'runserver', f'{folder}/instance', '--hostname', '127.0.0.1', '--port', str(port)], {}, f'{api}/machines') as server:
            status, answer = ask(server.url + f'{api}/runs', bytes_of(report), {'AuthToken': token, 'Content-Type': 'application/json'}, merge='replace')
            must(status == 200, f'{status} {answer}')  # of the run, which the answer sends us to
            stored = json.loads(answer)
    must(stored['machine']['name'] == document['environments'][0]['host'], f"{stored['machine']}")
    must(stored['run']['start_time'] + 'Z' == document['started'], f"{stored['run']}")
    samples = {}
    for sample in stored['tests']:
        samples.setdefault(sample['name'], []).append(sample)
    cases = {short(one['id'], 256): one for one in document['cases'] if one['outcome'] != 'unsupported'}
    must(samples.keys() == cases.keys(), f'tests: {samples.keys() ^ cases.keys()}')
    for name, one in cases.items():
        first, right = samples[name][0], one['outcome'] == 'ok'
        must(first['execution_status'] == (0 if right else 1), f'{name}: status')
        times = [sample['execution_time'] * 1e9 for sample in samples[name] if sample['execution_time'] is not None]
        expected = replicates(one, 'steady') if right else []
        must(len(times) == len(expected) and all(map(math.isclose, times, expected)), f'{name}: {times}, not {expected}')
    same({name: {figure: of[0][metric] for figure, metric in (('speedup', 'score'), ('code', 'code_size')) if of[0][metric] is not None} for name, of in samples.items()
          if not of[0]['execution_status']}, [document], ['speedup', 'code'], lambda text: short(text, 256))


def column(shape):
    """ClickHouse's type of what reports.PYTORCH describes."""
    if isinstance(shape, list):
        return f'Array({column(shape[0])})'
    if not isinstance(shape, dict):
        return {str: 'String', int: 'UInt64', float: 'Float32'}[shape]
    return f"Map(String, {column(shape['*'])})" if '*' in shape else 'Tuple(' + ', '.join(f'`{name}` {column(of)}' for name, of in shape.items()) + ')'


def clickhouse(report, result):
    try:
        from chdb import session
    except ImportError:
        print('chdb is not installed')
        sys.exit(MISSING)
    document = load(result)
    with tempfile.TemporaryDirectory() as folder:
        with open(f'{folder}/rows', 'w') as file:
            file.writelines(json.dumps(record) + '\n' for record in json.loads(bytes_of(report)))
        base = session.Session()
        for query in ('CREATE DATABASE b', 'CREATE TABLE b.t (' + ', '.join(f'`{name}` {column(of)}' for name, of in reports.PYTORCH.items()) + ') ENGINE = Memory',
                      f"INSERT INTO b.t FROM INFILE '{folder}/rows' SETTINGS input_format_skip_unknown_fields = 0, input_format_json_ignore_unknown_keys_in_named_tuple = 0 FORMAT JSONEachRow"):
            base.query(query)
        rows = str(base.query("SELECT timestamp AS at, benchmark.extra_info['id'] AS id, metric.name AS name,"
                              ' metric.benchmark_values AS samples FROM b.t FORMAT JSONEachRow')).splitlines()
    found = {}
    for row in map(json.loads, rows):
        must(time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(int(row['at']))) == document['started'], 'the time of the run')
        found.setdefault(row['id'], {})[row['name']] = row['samples']
    expected = {short(one['id']): replicates(one, 'steady') for one in document['cases'] if one['outcome'] == 'ok'}
    must(found.keys() == expected.keys(), f'cases: {found.keys() ^ expected.keys()}')
    for id, values in expected.items():
        must(all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(found[id]['steady_ns'], values, strict=True)), f'{id}: {found[id]}')  # Float32


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
        victoriametrics(report, *result, path, metrics, reports.lossy_influx if kind == 'influx' else short)
    else:
        globals()[reader](report, *result)


if __name__ == '__main__':
    try:
        main(*sys.argv[1:])
    except Wrong as error:
        sys.exit(f'{sys.argv[1]}: {error}')
