"""The documents that reports.py makes reports of, and what their figures are. Standard library alone."""
import hashlib, json, math, re


class Wrong(Exception):
    pass


def must(condition, what):
    if not condition:
        raise Wrong(what)


ODD = ['plain', 'quo"te', "apo'strophe", 'com,ma', 'new\nline', 'pi|pe', '<script>alert(1)</script>', '&amp;', 'ünïcödé 深度 🔥', 'con\x01trol\x1b[31m',
       'back\\slash\\', 'sp ace', 'eq=ual', '*b* _i_ `c` [l](u)', '${x} {y} %n', 'tab\there', '# hash', 'trailing\\', 'long ' + 'é' * 600 + '1', 'long ' + 'é' * 600 + '2']


def case(name, batch, outcome='ok', **more):
    one = {'id': f's/{name}/inductor/default/cpu/f32/b{batch}/machine/t2', 'env': 0, 'outcome': outcome, 'error': None if outcome == 'ok' else f'it said {name}',
           'case': {'suite': name, 'workload': name, 'backend': 'inductor', 'mode': 'default', 'device': 'cpu', 'dtype': 'f32', 'batch': batch,
                    'params': {name: name, 'n': 7, 'flag': True, 'empty': ''}, 'topology': 'machine', 'threads': 2, 'switches': {'opt.key_cache': 'off'}},
           'baseline': {'median_ns': 2000000.5, 'p05_ns': 1.9e6, 'p95_ns': 2.1e6, 'replicates': [{'median_ns': 2e6, 'samples_ns': [2e6, 2e6]}]},
           'steady': {'median_ns': 1000000.1 + batch, 'p05_ns': 9e5, 'p95_ns': 1.2e6,
                      'replicates': [{'median_ns': 1e6, 'samples_ns': [1e6] * 3}, {'median_ns': 1.1e6, 'samples_ns': [1e6] * 3}]},
           'speedup': {'ratio': 1.5 + batch / 64, 'lo': 1.4 + batch / 64, 'hi': 1.7 + batch / 64, 'noise_floor': None},
           'compile': {'cold_ns': {'median': 9000000, 'samples': [9000000, 9100000]}, 'disk_ns': None, 'pays_off_after_calls': None, 'stages_ns': {'capture': 5, 'odd <stage>|"': 6}},
           'graph': {'kernels': 3, 'library_calls': 0, 'breaks': [], 'code_bytes': 4096, 'peak_bytes': 65536, 'artifact': 'ab' * 32, 'fallbacks': [name]},
           'counters': {'page_faults': {'value': 0}, 'cycles': {'value': None, 'why': 'none'}, 'task_clock_ns': {'value': 12}}, 'correctness': {'ok': outcome == 'ok', 'against': 'f64'}}
    if outcome != 'ok':
        one['speedup'] = one['steady'] = one['baseline'] = None
    one.update(more)
    return one


def odd():
    cases = [case(name, 1 << (i % 8)) for i, name in enumerate(ODD)]
    cases += [case('crash <&>"', 3, 'crashed'), case('wrong', 5, 'wrong'), case('later', 6, 'unsupported')]
    measured = {'median_ns': 2780000, 'p05_ns': 2.7e6, 'p95_ns': 2.9e6, 'replicates': [{'median_ns': 2780000, 'samples_ns': [2780000]}]}
    cases += [case('wrong late', 7, 'wrong', baseline=measured, steady=measured, speedup={'ratio': 2.78, 'lo': 1.12, 'hi': 6.91, 'noise_floor': None})]
    for one, stop in zip(cases, ('target', 'budget', 'interrupted', None, 'count')):
        one['speedup']['replicates_stop'] = stop
    document = {'schema': 1, 'tbench': {'version': '0.1.0', 'commit': 'abc123', 'build': 'gcc "12"', 'artifact_abi': 1}, 'started': '2026-01-02T03:04:05Z',
                'finished': '2026-01-02T03:05:06Z', 'argv': [], 'seed': 1, 'interrupted': False, 'planned': len(cases), 'changed_since': None, 'left_out': [],
                'environments': [{'host': 'ho"st, <1>', 'os': 'Debian', 'kernel': 'Linux', 'cpu': {'model': 'CPU | 3 GHz', 'governor': 'powersave', 'cores': 2, 'pus': 4},
                                  'llvm': '19.1.7', 'lua': '5.4.4', 'blas': None, 'warnings': ['busy <b>']}], 'cases': cases}
    text = json.dumps(document, ensure_ascii=False)
    # a number that no double holds is infinite to who reads it
    return text.replace('"library_calls": 0', '"library_calls": 1e999', 1)


def odd_comparison():
    def pair(name, verdict, exit, ratio, **more):
        time = {'verdict': verdict, 'why': 'too <noisy>' if verdict == 'UNSURE' else None, 'ratio': ratio, 'lo': ratio * .98, 'hi': ratio * 1.02, 'floor': .01, 'pairs': 8}
        one = {'id': f's/{name}', 'presence': 'both', 'required': True, 'base_ns': 1e6, 'head_ns': ratio * 1e6, 'time': time, 'confirmed': False, 'control': False,
               'exact': [], 'problem': None, 'attribution': None, 'exit': exit}
        one.update(more)
        return one
    worse = [{'figure': 'kernels', 'member': None, 'outcome': 'worse', 'base': 1, 'head': 2, 'line': 'kernels 1 -> 2 (+100%): worse'}]
    cases = [pair(name, 'SAME', 0, 1 + i / 10000) for i, name in enumerate(ODD)]
    cases += [pair('slower', 'SLOWER', 1, 1.3, confirmed=True), pair('much slower', 'SLOWER', 1, 2.1), pair('faster|x', 'FASTER', 0, .7), pair('noisy', 'UNSURE', 3, 1.1),
              pair('free', 'UNSURE', 0, 1.1, required=False), pair('counted', 'SAME', 1, 1.0, exact=worse), pair('crashed', 'SAME', 4, 1.0, time=None, problem='head: <crashed>'),
              pair('gone', 'SAME', 4, 1.0, time=None, presence='vanished', head_ns=None, problem="it is missing in head's result")]
    return json.dumps({'schema': 1, 'kind': 'comparison', 'verb': 'compare', 'base': {'what': 'old|.json', 'commit': 'abc', 'started': None},
                       'head': {'what': 'new<.json', 'commit': None, 'started': '2026-01-02T03:04:05Z'}, 'cases': cases, 'remarks': ['a * remark'],
                       'problems': ['a <problem>', 'another'], 'exit': 4, 'meaning': 'failed'}, ensure_ascii=False)


def load(path):
    """A result as tbench takes it from a file: of the control characters, which a terminal would obey, spaces are left."""
    def clean(item):
        if isinstance(item, dict):
            return {clean(k): clean(v) for k, v in item.items()}
        if isinstance(item, list):
            return [clean(v) for v in item]
        return re.sub('[\x00-\x08\x0b-\x1f\x7f]', ' ', item) if isinstance(item, str) else item
    with open(path, encoding='utf-8') as file:
        return clean(json.load(file))


def short(text, most=1024):
    """A name as formats have it that hold so many bytes of it: cut at a character, with a hash that tells it from others."""
    data = text.encode()
    return text if len(data) <= most else data[:most - 17].decode(errors='ignore').rstrip('-') + '-' + hashlib.sha256(data).hexdigest()[:16]


# --- what a result has: {id: {figure: value in the document's unit}} ---

PATHS = {'steady': 'steady.median_ns', 'speedup': 'speedup.ratio', 'speedup_lower': 'speedup.lo', 'cold': 'compile.cold_ns.median', 'disk': 'compile.disk_ns.median',
         'kernels': 'graph.kernels', 'library_calls': 'graph.library_calls', 'code': 'graph.code_bytes', 'pays_off_calls': 'compile.pays_off_after_calls'}


def figures_of(documents, last=True):
    found = {}
    for document in documents:
        for one in document['cases']:
            if one['outcome'] != 'ok':
                continue
            figures = {}
            for name, path in PATHS.items():
                value = one
                for step in path.split('.'):
                    value = value.get(step) if isinstance(value, dict) else None
                if isinstance(value, (int, float)) and math.isfinite(value):
                    figures[name] = value
            found[one['id']] = figures
    return found


def whole(document):
    """Whether a run came to its end, with all that was planned."""
    reached = sum(not one.get('interrupted') for one in document['cases'])
    return document['finished'] is not None and not document.get('interrupted') and reached >= max(document.get('planned', 0), len(document['cases']))


def complete_of(documents):
    """{id: whether it has all of its replicates} of cases that are right, and that say it."""
    stops = {one['id']: one['speedup']['replicates_stop'] for d in documents for one in d['cases']
             if one['outcome'] == 'ok' and 'replicates_stop' in (one['speedup'] or {})}
    return {id: stop not in ('budget', 'interrupted', None) for id, stop in stops.items()}


def failing(documents):
    return {one['id']: one['outcome'] for d in documents for one in d['cases'] if one['outcome'] not in ('ok', 'unsupported')}
