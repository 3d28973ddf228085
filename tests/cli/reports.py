#!/usr/bin/env python3
"""Reads reports back, strictly: each reader is written against the format's specification, not against the reporter, and gives the figures
it found, which must be those of the result.

    reports.py odd                              a result with odd names, missing and infinite figures, on standard output
    reports.py odd-comparison                   the same of tbench compare
    reports.py read FORMAT REPORT RESULT…       the report of these results, in order; of a comparison for junit-comparison
    reports.py planted FORMAT REPORT RESULT     plants errors into a report and says which ones its reader took

Exit status 1 with a line for what is wrong. Standard library alone."""
import csv, io, json, math, random, re, sys

from report_documents import Wrong, complete_of, failing, figures_of, load, must, odd, odd_comparison, short, whole
from report_pages import flat, read_html, read_html_comparison, read_junit, read_junit_comparison, read_markdown, read_markdown_comparison


def strict_json(text):
    def members(pairs):
        must(len({k for k, _ in pairs}) == len(pairs), f'a key twice: {[k for k, _ in pairs]}')
        return dict(pairs)

    def constant(name):
        raise Wrong(f'{name} is no number of JSON')
    must('\ufffe' not in text, 'no character')
    try:
        return json.loads(text, object_pairs_hook=members, parse_constant=constant)
    except json.JSONDecodeError as e:
        raise Wrong(str(e))


def number(value, what):
    must(isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value), f'{what}: {value!r} is no number')
    return value


def keys(item, required, optional=(), what='object'):
    must(isinstance(item, dict), f'{what} is no object')
    must(set(required) <= set(item), f'{what} lacks {set(required) - set(item)}')
    must(set(item) <= set(required) | set(optional), f'{what} has {set(item) - set(required) - set(optional)}')


def must_complete(runs, cases, documents, lossy=short):
    """What a format of numbers told of runs and of cases that were cut: runs is a list, cases {id: 0 or 1}."""
    must(sorted(runs) == sorted(map(whole, documents)), f'which runs are whole: {runs}')
    expected = {lossy(id): value for id, value in complete_of(documents).items()}
    must(cases == expected, f'which cases are complete: {cases}, not {expected}')


def lossy_influx(text):
    return re.sub('[\x00-\x1f\x7f]', ' ', short(text).replace('\\', '/'))


# --- the readers: each gives {id: {figure: value}} ---

def read_csv(text, documents):
    rows = list(csv.reader(io.StringIO(text, newline=''), strict=True))
    must(text.endswith('\r\n'), 'the last line has no end')
    must(all(len(row) == len(rows[0]) for row in rows), 'rows differ in length')
    must(len(rows) - 1 == sum(len(d['cases']) for d in documents), 'not a row a case')
    names = {'steady_ns': 'steady', 'speedup': 'speedup', 'speedup_lo': 'speedup_lower', 'cold_ns': 'cold', 'disk_ns': 'disk', 'kernels': 'kernels', 'library_calls': 'library_calls',
             'pays_off_after_calls': 'pays_off_calls'}
    runs = [[d['started'] or '', d['tbench']['commit'], d['environments'][one['env']]['host']] for d in documents for one in d['cases']]
    first = rows[0].index('started')
    must(rows[0][first:] == ['started', 'commit', 'host', 'file'] and [row[first:-1] for row in rows[1:]] == runs, 'which run a row is of')
    found = {}
    for row in rows[1:]:
        one = dict(zip(rows[0], row))
        must(not any(re.fullmatch(r'[-+]?(nan|inf.*)', v, re.I) for v in row), 'nan or inf')
        if one['outcome'] != 'ok':
            must(not any(one[k] for k in (*names, 'baseline_ns', 'speedup_hi')), 'figures of a case that is not right')
        else:
            found[one['id']] = {names[k]: float(v) for k, v in one.items() if k in names and v}
    return found


def read_bencher(text, documents):
    found, complete = {}, {}
    names = {'latency': 'steady', 'speedup-ratio': 'speedup', 'cold-ns': 'cold', 'disk-ns': 'disk', 'kernels': 'kernels', 'library-calls': 'library_calls', 'file-size': 'code',
             'pays-off-calls': 'pays_off_calls'}
    document = strict_json(text)
    must(isinstance(document, dict), 'no object')
    for benchmark, measures in document.items():
        must(0 < len(benchmark.encode()) <= 1024, 'name of a benchmark')
        must(isinstance(measures, dict), 'measures are no object')
        figures = {}
        for measure, metric in measures.items():
            must(re.fullmatch(r'[a-z0-9]+(-[a-z0-9]+)*', measure) and len(measure) <= 64, f'{measure!r} is no slug')
            keys(metric, ['value'], ['lower_value', 'upper_value'], measure)
            for value in metric.values():
                number(value, measure)
            if 'lower_value' in metric:
                must(metric['lower_value'] <= metric['value'] <= metric['upper_value'], f'{measure}: bounds do not hold the value')
            if measure == 'complete':
                must(metric['value'] in (0, 1), measure)
                complete[benchmark] = metric['value']
            if measure in names:
                figures[names[measure]] = metric['value']
                if measure == 'speedup-ratio' and 'lower_value' in metric:
                    figures['speedup_lower'] = metric['lower_value']
        found[benchmark] = figures
    must('tbench/run' in found and not found.pop('tbench/run') and complete.pop('tbench/run') == all(map(whole, documents)), 'the run')
    must_complete(list(map(whole, documents)), complete, documents)
    return found


def read_google_benchmark(text, documents):
    document = strict_json(text)
    keys(document, ['context', 'benchmarks'])
    found, repetitions = {}, {}
    failed = {one['name']: one['message'] for one in document['context']['failed']}
    names = {'speedup_ratio': 'speedup', 'cold_ns': 'cold', 'disk_ns': 'disk', 'kernels': 'kernels', 'library_calls': 'library_calls', 'code_bytes': 'code', 'pays_off_calls': 'pays_off_calls'}
    for entry in document['benchmarks']:
        for key in ('name', 'run_name', 'run_type'):
            must(isinstance(entry.get(key), str), f'no {key}')
        must(entry['run_type'] in ('iteration', 'aggregate'), 'run_type')
        for key in ('iterations', 'real_time', 'cpu_time', 'repetitions', 'family_index', 'per_family_instance_index', 'threads'):
            number(entry.get(key), key)
        must(entry['time_unit'] in ('ns', 'us', 'ms', 's'), 'time_unit')
        if entry['run_type'] == 'iteration':
            must(entry['name'] == entry['run_name'], 'name of an iteration')
            repetitions.setdefault(entry['name'], []).append(number(entry.get('repetition_index'), 'repetition_index'))
            continue
        must(entry['name'] == f"{entry['run_name']}_{entry['aggregate_name']}" and entry['aggregate_unit'] == 'time', 'an aggregate')
        found[entry['run_name']] = {'steady': entry['real_time'], **{names[k]: v for k, v in entry.items() if k in names}}
    must(failed.keys() == failing(documents).keys(), f'failures: {failed.keys()}')
    must(all(indices == list(range(len(indices))) for indices in repetitions.values()) and repetitions.keys() == found.keys(), 'repetitions')
    return found


def read_lnt(text, documents):
    document = strict_json(text)
    keys(document, ['format_version', 'machine', 'run', 'tests'])
    must(document['format_version'] == '2', 'format_version')
    must(all(isinstance(v, str) for v in {**document['machine'], **document['run']}.values()), 'machine and run are texts')
    must(document['machine']['name'] and all(len(text) <= 256 for text in document['machine'].values()), 'machine')
    for key in ('start_time', 'end_time'):
        must(re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d', document['run'][key]), key)
    must(document['run']['llvm_project_revision'] == re.sub(r'\D', '', document['run']['start_time']), 'revision')
    reals = {'compile_time': ('cold', 1e9), 'execution_time': ('steady', 1e9), 'score': ('speedup', 1), 'mem_bytes': (None, 1), 'code_size': ('code', 1)}  # schemas/nts.yaml
    found, failed, seen = {}, set(), set()
    for test in document['tests']:
        keys(test, ['name'], [*reals, 'hash', 'execution_status', 'compile_status', 'hash_status'], 'test')
        must(test['name'] not in seen and len(test['name']) <= 256, 'a test twice, or its name')
        must(re.fullmatch('[0-9a-f]{32}', test.get('hash', '0' * 32)), 'hash')
        seen.add(test['name'])
        figures = {}
        for key, (figure, unit) in reals.items():
            values = test.get(key)
            for value in values if isinstance(values, list) else [values] if key in test else []:
                number(value, key)
            if figure and key in test and not isinstance(values, list):
                figures[figure] = values * unit
        must(test.get('execution_status') in (0, 1), 'status')
        if test['execution_status']:
            failed.add(test['name'])
        else:
            found[test['name']] = figures
    must(failed == failing(documents).keys(), f'failures: {failed}')
    return found


METRICS = {'tbench_steady_seconds': ('steady', 1e9), 'tbench_speedup_ratio': ('speedup', 1), 'tbench_speedup_lower_ratio': ('speedup_lower', 1), 'tbench_cold_seconds': ('cold', 1e9),
           'tbench_disk_seconds': ('disk', 1e9), 'tbench_kernels': ('kernels', 1), 'tbench_library_calls': ('library_calls', 1), 'tbench_code_bytes': ('code', 1),
           'tbench_pays_off_calls': ('pays_off_calls', 1)}


def take_metric(found, failed, runs, complete, name, labels, value):
    if name == 'tbench_run_complete':
        must(value in (0, 1) and not labels.keys() - {'__name__', 'host'}, name)
        runs.append(value)
        return
    if name == 'tbench_case_complete':
        must(value in (0, 1) and labels['id'] not in complete, name)
        complete[labels['id']] = value
        return
    if name == 'tbench_case_ok':
        must(value in (0, 1), 'tbench_case_ok')
        if not value:
            failed.add(labels['id'])
        return
    if name in METRICS:
        figure, unit = METRICS[name]
        found.setdefault(labels['id'], {})[figure] = value * unit


def read_victoriametrics(text, documents):
    found, failed, seen, runs, complete = {}, set(), set(), [], {}
    must(text.endswith('\n'), 'the last line has no end')
    for line in text.splitlines() if '\u2028' not in text else text[:-1].split('\n'):
        one = strict_json(line)
        keys(one, ['metric', 'values', 'timestamps'])
        must(all(isinstance(v, str) and v for v in one['metric'].values()), 'labels are texts that are not empty')
        must(all(re.fullmatch(r'[a-zA-Z_:][a-zA-Z0-9_:]*', k) for k in one['metric']), 'names of labels')
        must(re.fullmatch(r'[a-zA-Z_:][a-zA-Z0-9_:]*', one['metric']['__name__']), '__name__')
        must(len(one['values']) == len(one['timestamps']) >= 1, 'as many values as times')
        for value, time in zip(one['values'], one['timestamps']):
            number(value, 'value')
            must(isinstance(time, int) and time > 1e12, 'milliseconds')
        series = (tuple(sorted(one['metric'].items())), tuple(one['timestamps']))
        must(series not in seen, 'a point twice')
        seen.add(series)
        take_metric(found, failed, runs, complete, one['metric']['__name__'], one['metric'], one['values'][0])
    must_complete(runs, complete, documents)
    must(failed == failing(documents).keys(), f'failures: {failed}')
    return found


def read_prometheus(text, documents):
    found, failed, seen, families, current, runs, complete = {}, set(), set(), set(), None, [], {}
    must(text.endswith('\n'), 'the last line has no end')
    name = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
    label = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
    for line in text[:-1].split('\n'):
        if match := re.fullmatch(rf'# HELP ({name}) ((?:[^\\]|\\[\\n])*)', line):
            must(match[1] not in families, f'{match[1]} stands at two places')
            families.add(match[1])
            current, typed = match[1], False
        elif match := re.fullmatch(rf'# TYPE ({name}) (gauge|counter|untyped|summary|histogram)', line):
            must(match[1] == current and not typed, 'TYPE without HELP')
            typed = True
        else:
            match = re.fullmatch(rf'({name})(?:\{{({label}(?:,{label})*)\}})? (\S+)', line)
            must(match and match[1] == current and typed, f'no sample of {current}: {line}')
            pairs = [(k, re.sub(r'\\(.)', lambda m: '\n' if m[1] == 'n' else m[1], v)) for k, v in re.findall(label, match[2] or '')]
            labels = dict(pairs)
            must(len(labels) == len(pairs), 'a label twice')
            must(re.fullmatch(r'[-+]?\d+(\.\d+)?(e[-+]?\d+)?', match.groups()[-1]), 'value')
            must(line.rsplit(' ', 1)[0] not in seen, 'a series twice')
            seen.add(line.rsplit(' ', 1)[0])
            take_metric(found, failed, runs, complete, match[1], labels, float(match.groups()[-1]))
    must_complete(runs, complete, documents)
    must(failed == failing(documents).keys(), f'failures: {failed}')
    return found


def influx_parts(line, ends):
    """What stands before the first character of `ends` that is not escaped, without its escapes; that character; the rest."""
    out, i = '', 0
    while i < len(line):
        if line[i] == '\\' and i + 1 < len(line) and line[i + 1] in ',= ':
            out, i = out + line[i + 1], i + 2
        elif line[i] in ends:
            return out, line[i], line[i + 1:]
        else:
            must(line[i] not in '\n\\', 'a line end or a lonely backslash')
            out, i = out + line[i], i + 1
    return out, '', ''


def read_influx(text, documents):
    found, failed, seen, runs, complete = {}, set(), set(), [], {}
    names = {'steady_ns': 'steady', 'speedup_ratio': 'speedup', 'speedup_lower_ratio': 'speedup_lower', 'cold_ns': 'cold', 'disk_ns': 'disk', 'kernels': 'kernels',
             'library_calls': 'library_calls', 'code_bytes': 'code', 'pays_off_calls': 'pays_off_calls'}
    must(text.endswith('\n'), 'the last line has no end')
    for line in text[:-1].split('\n'):
        measurement, end, rest = influx_parts(line, ', ')
        must(measurement in ('tbench', 'tbench_run'), f'measurement {measurement!r}')
        tags, fields = {}, {}
        while end == ',':
            key, end, rest = influx_parts(rest, '=')
            must(end == '=' and key and key not in tags, f'tag {key!r}')
            tags[key], end, rest = influx_parts(rest, ', ')
            must(tags[key], f'the tag {key} is empty')
        must(end == ' ', 'no fields')
        end = ','
        while end == ',':
            key, end, rest = influx_parts(rest, '=')
            must(end == '=' and key and key not in fields, f'field {key!r}')
            match = re.match(r'"(?:[^"\\]|\\["\\])*"|true|false|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?', rest)
            must(match and rest[match.end():match.end() + 1] in (',', ' ', ''), f'value of {key}: {rest[:30]}')
            fields[key], end, rest = match[0], rest[match.end():match.end() + 1], rest[match.end() + 1:]
        must(re.fullmatch(r'\d{19}', rest), f'nanoseconds: {rest!r}')
        point = (measurement, tuple(sorted(tags.items())), rest)
        must(point not in seen, 'a point twice')
        seen.add(point)
        if measurement == 'tbench_run':
            must(tags.keys() == {'host'} and fields.keys() == {'complete'} and fields['complete'] in ('true', 'false'), 'a run')
            runs.append(fields['complete'] == 'true')
        elif fields['ok'] == 'true':
            if 'complete' in fields:
                must(fields['complete'] in ('true', 'false'), 'complete')
                complete[tags['id']] = fields['complete'] == 'true'
            found[tags['id']] = {names[k]: float(v) for k, v in fields.items() if k in names}
        else:
            must(not {'complete', *names} & set(fields), 'figures of a case that is not right')
            failed.add(tags['id'])
    must_complete(runs, complete, documents, lossy_influx)
    must(len(failed) == len(failing(documents)), f'failures: {failed}')
    return found


# The columns of clickhouse_db_schema/benchmark.oss_ci_benchmark_v3 that a record may fill.
TEXTS = {'*': str}
PYTORCH = {'schema_version': str, 'timestamp': int, 'benchmark': {'name': str, 'mode': str, 'dtype': str, 'extra_info': TEXTS},
           'model': {'name': str, 'type': str, 'backend': str, 'origins': [str], 'extra_info': TEXTS},
           'metric': {'name': str, 'benchmark_values': [float], 'target_value': float, 'extra_info': TEXTS},
           'runners': [{'name': str, 'type': str, 'cpu_info': str, 'cpu_count': int, 'extra_info': TEXTS}],
           'dependencies': {'*': {'repo': str, 'branch': str, 'sha': str, 'version': str, 'extra_info': TEXTS}}}


def fits(value, shape, what):
    if isinstance(shape, dict):
        must(isinstance(value, dict), f'{what} is no object')
        for key, item in value.items():
            must(key in shape or '*' in shape, f'{what} has no {key}')
            fits(item, shape.get(key, shape.get('*')), f'{what}.{key}')
    elif isinstance(shape, list):
        must(isinstance(value, list), f'{what} is no list')
        for item in value:
            fits(item, shape[0], what)
    elif shape is float:
        must(abs(number(value, what)) < 3.4e38, f'{what} is no Float32')
    else:
        must(type(value) is shape, f'{what}: {value!r} is no {shape.__name__}')


def read_pytorch(text, documents):
    records, found, seen = strict_json(text), {}, set()
    must(isinstance(records, list), 'no list')
    names = {'speedup_ratio': 'speedup', 'kernels': 'kernels', 'library_calls': 'library_calls', 'code_bytes': 'code', 'pays_off_calls': 'pays_off_calls'}
    for record in records:
        fits(record, PYTORCH, 'record')
        must(record['schema_version'] == 'v3' and record['benchmark']['name'] and record['model']['name'] and record['metric']['benchmark_values'], 'what a record must have')
        identity = (record['benchmark']['extra_info']['id'], record['metric']['name'], record['timestamp'])
        must(identity not in seen, 'a record twice')
        seen.add(identity)
        figures = found.setdefault(identity[0], {})
        if identity[1] in names:
            figures[names[identity[1]]] = record['metric']['benchmark_values'][0]
    return found


def read_conbench(text, documents):
    """As conbench/entities/benchmark_result.py validates what is posted."""
    found, failed = {}, set()
    for one in strict_json(text):
        keys(one, ['run_id', 'batch_id', 'timestamp', 'tags', 'context', 'github'], ['info', 'cluster_info', 'machine_info', 'stats', 'error', 'run_tags', 'run_reason'], 'result')
        must(('cluster_info' in one) != ('machine_info' in one), 'one of machine and cluster')
        must('stats' in one or 'error' in one, 'stats or error')
        keys(one['cluster_info'], ['name', 'info', 'optional_info'], (), 'cluster')
        keys(one['github'], ['repository'], ['commit', 'pr_number', 'branch'], 'github')
        must(one['github']['repository'].startswith('https://github.com/') and re.fullmatch('[0-9a-f]{40}', one['github'].get('commit', '0' * 40)), 'github')
        must(re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z', one['timestamp']), 'timestamp')
        must(all(isinstance(v, str) and k and v for k, v in one['tags'].items()) and one['tags'].get('name'), 'tags')
        if 'error' in one:
            failed.add(one['info']['id'])
            continue
        keys(one['stats'], ['data', 'unit'], ['times', 'time_unit', 'iterations'], 'stats')
        must(one['stats']['unit'] in ('B', 'B/s', 's', 'ns', 'i/s'), 'unit')
        must(one['stats']['data'], 'no data')
        for value in one['stats']['data']:
            number(value, 'data')
        figures = found.setdefault(one['info']['id'], {})
        figure = one['tags']['name'].rsplit(' ', 1)[1]
        if figure == 'code':
            figures[figure] = one['stats']['data'][0]
    must(failed == failing(documents).keys(), f'failures: {failed}')
    return found


# What each format has no place for.
LACKS = {'bencher': (), 'csv': ('code',), 'google_benchmark': ('speedup_lower',), 'lnt': ('speedup_lower', 'disk', 'kernels', 'library_calls', 'pays_off_calls', '*steady', '*cold'),
         'junit': ('speedup_lower',), 'pytorch': ('speedup_lower', 'steady', 'cold', 'disk'),
         'conbench': ('steady', 'cold', 'speedup', 'speedup_lower', 'disk', 'kernels', 'library_calls', 'pays_off_calls')}


def compare(format, found, documents):
    expected = figures_of(documents)
    lacks = {name.lstrip('*') for name in LACKS.get(format, ())}
    whole = ('csv', 'conbench', 'html', 'markdown')
    lossy = {'influx': lossy_influx, 'junit': flat, 'lnt': lambda text: short(text, 256)}.get(
        format, (lambda text: text) if format in whole else short)
    names = {lossy(id): figures for id, figures in expected.items()}
    must(found.keys() == names.keys(), f'cases: {found.keys() ^ names.keys()}')
    for id, figures in names.items():
        wanted = {k: v for k, v in figures.items() if k not in lacks}
        have = {k: v for k, v in found[id].items() if k not in lacks}
        must(wanted.keys() == have.keys(), f'{id}: {wanted.keys() ^ have.keys()}')
        for name, value in wanted.items():
            must(math.isclose(value, have[name], rel_tol=1e-12), f'{id}: {name} {have[name]}, not {value}')


def read(format, text, documents):
    found = globals()['read_' + format.replace('-', '_')](text, documents)
    if found is not None:
        compare(format, found, documents)


def plant(text, random):
    """A damaged text: a byte, a number, a quote, a line."""
    kinds = ['cut', 'drop', 'nan', 'twice', 'quote', 'number']
    kind = random.choice(kinds)
    lines = text.split('\n')
    i = random.randrange(max(1, len(lines) - 1))
    if kind == 'cut':
        return kind, text[:random.randrange(len(text) // 4, len(text) - 2)]
    numbers = list(re.finditer(r'(?<![\w.])\d+\.\d+(?![\w.])', text))
    if kind in ('nan', 'number') and numbers:
        match = random.choice(numbers)
        return kind, text[:match.start()] + ('NaN' if kind == 'nan' else str(float(match[0]) * 3 + 1)) + text[match.end():]
    quotes = [m.start() for m in re.finditer('"', text)]
    if kind == 'quote' and quotes:
        at = random.choice(quotes)
        return kind, text[:at] + text[at + 1:]
    if kind == 'twice':
        return kind, '\n'.join(lines[:i + 1] + lines[i:])
    return 'drop', '\n'.join(lines[:i] + lines[i + 1:])


def main(verb, *arguments):
    if verb == 'odd':
        print(odd())
    elif verb == 'odd-comparison':
        print(odd_comparison())
    elif verb == 'read':
        format, report, *results = arguments
        with open(report, newline='', encoding='utf-8', errors='strict') as file:
            text = file.read()
        read(format, text, [load(result) for result in results])
    elif verb == 'planted':
        format, report, result = arguments
        text, documents = open(report, newline='', encoding='utf-8').read(), [load(result)]
        read(format, text, documents)
        chance, taken, count = random.Random(1), {}, 100
        for _ in range(count):
            kind, damaged = plant(text, chance)
            try:
                read(format, damaged, documents)
                if damaged != text:
                    taken[kind] = taken.get(kind, 0) + 1
            except Exception:
                continue
        print(f'{format}: {count} errors, taken {sum(taken.values())} {taken}')
        # What is left out or changed beside the figures may pass for another report; what breaks the form may not.
        never = {'csv': {'cut', 'nan'}, 'influx': {'cut', 'nan'}, 'html': {'cut'}}.get(format, {'cut', 'nan', 'quote'})
        must(not never & taken.keys(), f'the reader takes what is broken: {taken}')
    else:
        sys.exit(__doc__)


if __name__ == '__main__':
    try:
        main(*sys.argv[1:])
    except Wrong as error:
        sys.exit(f'{sys.argv[2]}: {error}')
