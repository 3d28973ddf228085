"""Results that the pages' tests need beside the history of examples/demo, made of one of its documents. Run as a program it writes them into a folder:

    page_documents.py DOCUMENT FOLDER

ablation.json has two models with each of three switches off and all of them off; many-1.json and many-2.json the same cases on two machines; nightly-N.json
a case that fails in some of its nights, and needs no memory."""
import copy
import datetime
import json
import math
import sys

SWITCHES = {'opt.key_cache': 1.5, 'opt.lazy_dump': 1.02, 'opt.fused_passes': 0.8}  # a cold compile without it, over one with it
TOGETHER = 2.5
MODELS = ('alpha', 'be<b>ta&"')           # names may hold anything
MANY = 230                                # cases of each machine, more than half a page
NIGHTLY = 'nightly/mlp/inductor/default/cpu/f32/b8/machine/t4'
NIGHTS = ('ok', 'unsupported', 'ok', 'ok', 'wrong', 'ok', 'ok', 'crashed')
NOISE = (0.99, 1.0, 1.01, 1.0)            # of replicates: geometric mean within 1e-4 of 1
LAUNCHES = [
    {'label': 'fused_add_relu <1>', 'kind': 'kernel', 'generator': 'llvm', 'fused': 'add relu', 'ops': 2, 'bytes': 4096, 'flops': 2e6},
    {'label': 'matmul [8, 64]x[64, 64]', 'kind': 'library', 'generator': 'blas', 'fused': 'matmul', 'ops': 1, 'bytes': 65536, 'flops': 4e6},
]
COUNTERS = {'cycles': {'value': None, 'why': 'no hardware counters & none soon'}, 'page_faults': {'value': 17}}


def counted(total):
    return {'total': total, 'stages': {'capture': total // 4, 'codegen': total - total // 4}}


INSTRUCTIONS = {'cold': counted(4000000), 'disk': counted(400000), 'memory': counted(40000), 'steady': 1234, 'steady_calls': 10, 'why': {}}
UNCOUNTED = dict(INSTRUCTIONS, memory=None, steady=None, steady_calls=None)


def duration(ns):
    samples = [ns * noise for noise in NOISE]
    return {'median': ns, 'samples': samples}


def case_of(like, model, switches, factor):
    one = copy.deepcopy(like)
    one['case'].update(suite='compile_opts', workload=model, switches={name: 'off' for name in switches})
    one['id'] = f'compile_opts/{model}/inductor/default/cpu/f32/b8/machine/t4' + ''.join(f';{name}=off' for name in sorted(switches))
    one['compile'].update(cold_ns=duration(4e6 * factor), start_ns=duration(2e6), stages_ns={'capture': 1e6, 'codegen': 3e6})
    one['steady']['replicates'] = (one['steady']['replicates'] * len(NOISE))[:len(NOISE)]  # each of them has a cold compile
    one['graph'].update(launches=LAUNCHES, kernels=1, library_calls=1)
    one['counters'], one['counted_calls'], one['instructions'] = COUNTERS, 10, INSTRUCTIONS if model == MODELS[0] else UNCOUNTED
    return one


def ablation(like):
    document = copy.deepcopy(like)
    example = next(one for one in document['cases'] if one['outcome'] == 'ok')
    sets = [((), 1.0)] + [((name,), factor) for name, factor in SWITCHES.items()] + [(tuple(SWITCHES), TOGETHER)]
    document['cases'] = [case_of(example, model, names, factor) for model in MODELS for names, factor in sets]
    document['planned'] = len(document['cases'])
    return document


def many(like, host):
    document = copy.deepcopy(like)
    example = next(one for one in document['cases'] if one['outcome'] == 'ok')
    document['environments'][0]['host'] = host
    document['cases'] = [dict(copy.deepcopy(example), id=f'many/c{number:04d}/inductor/default/cpu/f32/b8/machine/t4') for number in range(MANY)]
    document['planned'] = MANY
    return document


def night(like, number, outcome):
    document = copy.deepcopy(like)
    started = datetime.datetime.fromisoformat(like['started'].replace('Z', '+00:00')) - datetime.timedelta(days=len(NIGHTS) - 1 - number)
    one = copy.deepcopy(next(one for one in document['cases'] if one['outcome'] == 'ok'))
    one.update(id=NIGHTLY, outcome=outcome, error=None if outcome == 'ok' else 'it is ' + outcome)
    one['graph'].update(peak_bytes=0, bytes_moved=4096, code_bytes=512)
    document['tbench']['commit'], document['started'] = f'{number:07x}a', started.isoformat().replace('+00:00', 'Z')
    document['cases'], document['planned'] = [one], 1
    return document


def main(source, folder):
    with open(source) as file:
        like = json.load(file)
    nights = [(f'nightly-{number}', night(like, number, outcome)) for number, outcome in enumerate(NIGHTS)]
    for name, document in [('ablation', ablation(like)), ('many-1', many(like, 'first & <host>')), ('many-2', many(like, 'second'))] + nights:
        with open(f'{folder}/{name}.json', 'w') as file:
            json.dump(document, file)


def ratio(switch):
    """What the ablation has to say of a switch, or of all together."""
    return SWITCHES.get(switch, TOGETHER)


assert abs(math.prod(NOISE) - 1) < 1e-3
if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])
