"""What a reader of the pages sees and does, in a headless Chromium. Started by tests/cli/page.sh:

    page_views.py BROWSER PROFILE ADDRESS FOLDER

Prints a line for each test: ok or not ok, its name, and what was wrong, parted by tabs. Pictures go into the folder."""
import csv
import io
import json
import math
import re
import struct
import sys
import time
import urllib.parse
import urllib.request

import page_documents
from browser import Browser

LOOKS = ((400, False), (400, True), (1200, False), (1200, True), (3840, False))  # width, dark
HEIGHT = 900
LEAST_CONTRAST = 4.5  # WCAG 2.1, text
COLUMNS = {'over probe': 'value', 'moved': 'moved', 'peak memory': 'peak', 'code': 'code', 'kernels': 'kernels', 'instructions': 'instructions'}  # of the table of runs, and what they are of
LEAST_APART = 0.12    # distance of two colours, as those see them who cannot tell red from green

# Texts of charts that lie on one another or are cut off, and texts that are hard to read.
OVERLAPS = """(() => {
  const found = [];
  for (const group of document.querySelectorAll('.plot, .ticks')) {
    const texts = Array.from(group.querySelectorAll('text, .dygraph-axis-label')).filter(one => one.textContent);
    const boxes = texts.map(one => one.getBoundingClientRect());
    for (const text of texts)
      if (text.parentElement.scrollWidth > text.parentElement.clientWidth + 1 && text.classList.contains('dygraph-axis-label')) found.push(text.textContent + ' is cut off');
    for (let i = 0; i < boxes.length; i++)
      for (let k = 0; k < i; k++)
        if (boxes[i].left < boxes[k].right && boxes[k].left < boxes[i].right && boxes[i].top < boxes[k].bottom && boxes[k].top < boxes[i].bottom && boxes[i].width && boxes[k].width)
          found.push(texts[i].textContent + ' on ' + texts[k].textContent);
  }
  return found;
})()"""
PALE = """(() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number), found = [];
  const light = colour => { const [r, g, b] = colour.map(c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = one => { for (; one; one = one.parentElement) { const colour = parse(getComputedStyle(one).backgroundColor); if (colour.length === 3 || colour[3] === 1) return colour.slice(0, 3); } return [255, 255, 255]; };
  for (const one of document.querySelectorAll('body *')) {
    if (!Array.from(one.childNodes).some(node => node.nodeType === 3 && node.data.trim()) || !one.getClientRects().length || one instanceof SVGElement) continue;
    const a = light(parse(getComputedStyle(one).color).slice(0, 3)), b = light(ground(one)), contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < LEAST) found.push(one.textContent.trim().slice(0, 30) + ' ' + contrast.toFixed(2));
  }
  return found;
})()""".replace('LEAST', str(LEAST_CONTRAST))
# Of a figure's chart: columns where a cross stands on the time axis, the first column of each, and columns that its line runs through.
DRAWN = """(figure => {
  const wanted = name => { const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim(); return [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16)); };
  const found = { crosses: [], line: [] }, cross = wanted('--slower'), line = wanted('--series');
  for (const canvas of figure.querySelectorAll('canvas')) {
    const { width, height } = canvas, pixels = canvas.getContext('2d').getImageData(0, 0, width, height).data, places = [];
    const is = (at, colour) => pixels[at + 3] > 120 && Math.hypot(pixels[at] - colour[0], pixels[at + 1] - colour[1], pixels[at + 2] - colour[2]) < 40;
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const at = 4 * (y * width + x);
        if (is(at, cross)) places.push([x, y]);
        else if (is(at, line)) found.line.push(x);
      }
    const bottom = Math.max(...places.map(one => one[1]));
    found.crosses.push(...places.filter(one => one[1] > bottom - 6).map(one => one[0]));
  }
  return { crosses: Array.from(new Set(found.crosses)).sort((a, b) => a - b), line: Array.from(new Set(found.line)).sort((a, b) => a - b) };
})"""
CHARTS_DONE = "Array.from(document.querySelectorAll('figure.chart')).every(figure => figure.querySelector('.legend'))"

CAPTIONS = "Array.from(document.querySelectorAll('figure.chart figcaption')).map(one => one.textContent)"


def check(name, problems):
    problems = problems if isinstance(problems, list) else [] if problems is True else [repr(problems)]
    print('ok' if not problems else 'not ok', name, '; '.join(str(one) for one in problems)[:500].replace('\n', ' '), sep='\t', flush=True)


def amount(text):
    """Of 1.23 kB; nan where there is none."""
    number, *unit = text.split() if text and text != '–' else ('nan',)
    return float(number) * {'kB': 1e3, 'MB': 1e6, 'GB': 1e9}.get(''.join(unit), 1)


def query(path, **arguments):
    return path + '?' + urllib.parse.urlencode(arguments)


class Reader:
    def __init__(self, browser, address, folder):
        self.browser, self.base, self.folder = browser, 'http://' + address, folder
        regressions = self.json('/api/v1/regressions?state=closed')['regressions']
        moved, self.machine = regressions[0], regressions[0]['machine']
        self.case, self.failed = moved['case'], next(one for one in self.json('/api/v1/overview')['failed'] if one['outcome'] == 'timeout')
        changes = self.json(query('/api/v1/changes', case=self.case, machine=self.machine))['changes']
        self.base_commit, self.head_commit = changes[0]['previous_commit'], changes[0]['commit']
        machines = [one['machine'] for one in self.json(query('/api/v1/latest', case=self.case))['machines']]
        self.model = 'compile_opts/alpha/inductor/default/cpu/f32/b8/machine/t4;opt.key_cache=off'
        key = self.json('/api/v1/overview')['runs'][0]['key']
        self.views = {
            'overview': '/', 'cases': '/cases', 'case': query('/case', case=self.case, machine=self.machine), 'a case with kernels and switches': query('/case', case=self.model),
            'comparison': query('/compare', base=self.base_commit, head=self.head_commit, machine=self.machine),
            'comparison of machines': query('/compare', base=self.head_commit, head=self.head_commit, base_machine=machines[0], head_machine=machines[1]),
            'ablation': '/ablation', 'open regressions': '/regressions?state=open', 'closed regressions': '/regressions?state=closed', 'result': query('/result', key=key),
            'a case of nights': query('/case', case=page_documents.NIGHTLY),
            'a case that fails': query('/case', case=self.failed['case'], machine=self.failed['machine']),
        }

    def get(self, path):
        with urllib.request.urlopen(self.base + path, timeout=300) as answer:
            return answer.headers.get_content_type(), answer.read().decode()

    def json(self, path):
        return json.loads(self.get(path)[1])

    def visit(self, path, scripts=True):
        self.browser.visit(self.base + path)
        return not scripts or self.browser.wait(CHARTS_DONE)

    # --- how pages look ---

    def picture(self, name, width):
        path = f'{self.folder}/{name.replace(" ", "-")}.png'
        self.browser.picture(path)
        with open(path, 'rb') as file:
            return struct.unpack('>II', file.read(24)[16:]) == (width, HEIGHT)

    def look(self):
        for width, dark in LOOKS:
            self.browser.look(width, HEIGHT, dark=dark)
            for name, path in self.views.items():
                drawn, seen = self.visit(path), f'{name} {width} {"dark" if dark else "light"}'
                problems = ([] if drawn else ['charts are not drawn']) + self.browser.complaints + self.browser.ask(OVERLAPS) + self.browser.ask(PALE)
                if self.browser.ask('document.documentElement.scrollWidth') > width:
                    problems.append('wider than the screen')
                if not self.picture(seen, width):
                    problems.append('the picture has another size')
                check(f'no complaint, nothing on top of another, readable: {seen}', problems)

    def colours(self):
        """Deuteranopia (Machado, Oliveira and Fernandes 2009), on linear RGB."""
        sees = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))

        def seen(text):
            text = text.strip().lstrip('#')
            linear = [(v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4) for v in (int(text[i:i + 2], 16) / 255 for i in (0, 2, 4))]
            return [sum(a * b for a, b in zip(row, linear)) for row in sees]

        for dark in (False, True):
            self.browser.look(1200, HEIGHT, dark=dark)
            self.visit('/ablation')
            problems = []
            for names in (('series', 'series-2', 'series-3'), ('bar-more', 'bar-less', 'bar-unsure')):
                colours = {name: seen(self.browser.ask(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}')")) for name in names}
                problems += [f'{a} as {b}' for a in names for b in names if a < b and math.dist(colours[a], colours[b]) < LEAST_APART]
            check(f'colours differ for those who cannot tell red from green: {"dark" if dark else "light"}', problems)

    # --- charts and their data ---

    def history(self):
        self.browser.look(1200, HEIGHT)
        self.visit(self.views['case'])
        charts = self.browser.ask("""Array.from(document.querySelectorAll('figure.chart')).map(figure => ({
          title: figure.querySelector('figcaption').textContent, drawn: figure.classList.contains('drawn') && figure.querySelectorAll('canvas').length > 0,
          labels: Array.from(figure.querySelectorAll('.dygraph-axis-label-y')).map(one => one.textContent).filter(Boolean),
          key: Array.from(figure.querySelectorAll('.key li')).map(one => one.textContent), figures: figure.dataset.figures + (figure.dataset.low ? ',' + figure.dataset.low + ',' + figure.dataset.high : ''),
          data: Array.from(figure.querySelectorAll('.data a')).map(one => one.getAttribute('href')) }))""")
        check('the history has its charts', [one['title'] for one in charts if not one['drawn']] + ([] if len(charts) >= 5 else [len(charts)]))
        check('axes have units', [f'{one["title"]} {one["labels"]}' for one in charts if len(one['labels']) < (1 if one['title'] == 'Kernels' else 2) or not (
            re.search(r'\((ns|µs|ms|s|×)[,)]', one['title']) or all(re.search(r'(ns|µs|ms|\bs|[kMG]?B)$', label) for label in one['labels']) or one['title'] == 'Kernels')])
        check('lines are named', [one['title'] for one in charts if ',' in one['figures'] and not one['key'] and 'low' not in one['figures'] and 'p05' not in one['figures'] and 'lo' not in one['figures']])
        check('the first one shows change points and its band', [] if 'change points' in self.browser.ask("document.querySelector('.chart .legend').textContent") else ['none'])
        check('what change points are found in is a chart too, and the page says what it is', [] if any(one['figures'] == 'value' and one['title'].endswith('(×)') for one in charts)
              and 'They are found in the time over that of the probe' in self.get(self.views['case'])[1] else [one['title'] for one in charts])
        check('the overview says how what moved was told from noise', [] if 'Benjamini and Hochberg' in self.get('/')[1] else ['it does not'])
        self.data_of(charts)
        self.longer()

    def longer(self):
        """A history that is longer than what is drawn of it, played by the page: it is drawn once more."""
        plain = self.browser.ask(CAPTIONS)
        self.browser.ask("(() => { for (const figure of document.querySelectorAll('figure.chart')) { figure.dataset.runs = 5000; figure.querySelector('.legend').remove(); }"
                         " const script = document.createElement('script'); script.src = document.querySelector('script[src*=page]').src; document.head.append(script); })()")
        self.browser.wait(CHARTS_DONE)
        captions, runs = self.browser.ask(CAPTIONS), len(self.json('/api/v1/series?' + urllib.parse.urlparse(self.views['case']).query)['points'])
        check('a chart of a part of the runs says so, and no other one', [one for one in captions if f'the newest {runs} of 5000 runs)' not in one] + [one for one in plain if 'newest' in one] + ([] if captions else ['none']))

    def data_of(self, charts):
        problems = []
        for chart in charts:
            figures = chart['figures'].split(',')
            for link in chart['data']:
                kind, text = self.get(link)
                if kind == 'text/csv':
                    header, first = list(csv.reader(io.StringIO(text)))[:2]
                    if (header[-len(figures):] != figures and not (figures == ['value'] and header[-2:] == ['value', 'key'])) or not first[0].startswith('202'):
                        problems.append(f'{chart["title"]}: {header}')
                elif kind != 'application/json' or not set(figures) <= set(json.loads(text)['points'][0]):
                    problems.append(f'{chart["title"]}: {kind}')
            if len(chart['data']) != 2:
                problems.append(f'{chart["title"]}: {chart["data"]}')
        check('each chart gives its data as JSON and CSV', problems)

    def ablation(self):
        self.browser.look(1200, HEIGHT)
        self.visit('/ablation')
        sets = len(page_documents.SWITCHES) + 1
        charts = self.browser.ask("""Array.from(document.querySelectorAll('figure.bars')).map(figure => ({ title: figure.querySelector('figcaption').textContent,
          ticks: Array.from(figure.querySelectorAll('.ticks text')).map(one => [parseFloat(one.textContent), parseFloat(one.getAttribute('x'))]),
          rows: Array.from(figure.querySelectorAll('.bar-row')).map(row => { const bar = row.querySelector('rect'); return { label: row.querySelector('.bar-label').textContent, kind: bar.getAttribute('class'),
            x: parseFloat(bar.getAttribute('x')), width: parseFloat(bar.getAttribute('width')), whiskers: row.querySelectorAll('.whisker').length, value: parseFloat(row.querySelector('.bar-value').textContent) }; }) }))""")
        check('the ablation has a chart for each model and one over all, with each switch alone and all together',
              [chart['title'] for chart in charts if len(chart['rows']) != sets] + ([] if len(charts) == len(page_documents.MODELS) + 1 and charts[0]['title'].startswith('over 2') else [len(charts)]))
        problems = []
        for chart in charts:
            (low, low_at), (high, high_at) = min(chart['ticks']), max(chart['ticks'])
            for row in chart['rows']:
                expected = page_documents.ratio('opt.' + row['label'])
                place = low_at + (high_at - low_at) * math.log(expected / low) / math.log(high / low)
                one = low_at + (high_at - low_at) * math.log(1 / low) / math.log(high / low)
                kind = 'more' if expected > 1.01 else 'less' if expected < 0.99 else 'unsure'
                ends = sorted((place, one))
                if abs(row['x'] - ends[0]) > 0.5 or abs(row['width'] - (ends[1] - ends[0])) > 0.5 or abs(row['value'] - expected) > 2e-3 or row['whiskers'] < 2 or row['kind'] not in (kind, 'unsure' if expected == 1.02 else kind):
                    problems.append(f'{chart["title"]} {row} expected {expected} at {place}')
        check('its bars lie where the ratio is on a logarithmic axis, with intervals', problems)
        links = self.browser.ask("Array.from(document.querySelectorAll('.data a')).map(one => one.getAttribute('href'))")
        rows = list(csv.DictReader(io.StringIO(self.get(links[1])[1])))
        wrong = [row for row in rows if abs(float(row['cold']) - page_documents.ratio('opt.' + row['off'])) > 2e-3 or not float(row['cold_lo']) <= float(row['cold']) <= float(row['cold_hi'])]
        check('its data as CSV', wrong + ([] if len(rows) == sets * (len(page_documents.MODELS) + 1) else [len(rows)]))
        document = self.json(links[0])
        check('and as JSON say the same', [] if [round(row['cold'], 6) for row in document['rows']] == [round(float(row['cold']), 6) for row in rows] else ['they differ'])
        check('names from outside stay text', [] if any(chart['title'].startswith(page_documents.MODELS[1]) for chart in charts) and page_documents.MODELS[1] not in self.get('/ablation')[1]
              and {row['model'].split(' ')[0] for row in rows} == {'over', *page_documents.MODELS} else [chart['title'] for chart in charts])
        self.visit('/ablation?figure=start_cold')
        values = self.browser.ask("Array.from(document.querySelectorAll('figure.bars')[1].querySelectorAll('.bar-value')).map(one => parseFloat(one.textContent))")
        check('the other figure has its own URL: with the start of the process ratios are smaller',
              [] if abs(values[-1] - (4 * page_documents.TOGETHER + 2) / 6) < 3e-3 else values)

    def case_page(self):
        self.browser.look(1200, HEIGHT)
        self.visit(self.views['a case with kernels and switches'])
        text = self.browser.ask('document.querySelector("main").innerText')
        wanted = ['fused_add_relu <1>', 'add relu', 'matmul [8, 64]x[64, 64]', 'not counted: no hardware counters & none soon', '4000000', 'a later call: 1234', 'warm, from disk', '1 missed', '2.00 MFLOP', 'opt.lazy_dump=off',
                  'all at their defaults', 'Change points', 'Runs']
        check('a case has kernels, counters with reasons, instructions, cold and warm starts, switches', [one for one in wanted if one not in text])
        self.visit(query('/case', case=self.model.replace('alpha', page_documents.MODELS[1])))
        text = self.browser.ask('document.querySelector("main").innerText')
        check('what was not counted is no number', [] if 'a later call: –' in text and 'nan' not in text.lower().split() else [text[-300:]])
        self.nights()
        self.visit(self.views['a case that fails'])
        failed = self.browser.ask("[document.querySelector('.machines [aria-current]').parentElement.innerText, document.querySelector('.problem').innerText]")
        check('one that fails says how, and why', [] if self.failed['outcome'] in failed[0] and 'SAME' not in failed[0] and 'longer than' in failed[1] else failed)
        self.visit(self.views['case'])
        target = self.browser.ask("document.querySelector('section a[href^=\"/compare\"]').getAttribute('href')")
        check('a change point leads to the comparison with the commit before it', [] if f'base={self.base_commit}&head={self.head_commit}' in target else [target])
        self.visit(self.views['comparison'])
        first = self.browser.ask("[document.querySelector('.bar-label').textContent, document.querySelector('rect').getAttribute('class'), document.querySelectorAll('tbody tr, table tr').length]")
        check('which shows it first, as slower', [] if first[0] == self.case and first[1] == 'less' else first)
        kind, text = self.get(self.browser.ask("document.querySelectorAll('.data a')[1].getAttribute('href')"))
        rows = {row['case']: row for row in csv.DictReader(io.StringIO(text))}
        check('and gives its data as CSV', [] if kind == 'text/csv' and rows[self.case]['verdict'] == 'SLOWER' and float(rows[self.case]['lo']) > 1 else [text[:200]])

    def nights(self):
        """A case that fails now and then: each such run is marked, with its outcome, and no line leads over it."""
        failures = [number for number, outcome in enumerate(page_documents.NIGHTS) if outcome not in ('ok', 'unsupported')]
        self.visit(self.views['a case of nights'])
        charts = self.browser.ask(f"Array.from(document.querySelectorAll('figure.drawn')).map(figure => Object.assign({DRAWN}(figure), {{ title: figure.dataset.title, legend: figure.querySelector('.legend').textContent,"
                                  " key: Array.from(figure.querySelectorAll('.key li')).map(one => one.textContent), dates: figure.querySelectorAll('.dygraph-axis-label-x').length }))")
        problems = []
        for chart in charts:
            centres = []
            for x in chart['crosses']:
                if not centres or x > centres[-1][-1] + 4:
                    centres.append([])
                centres[-1].append(x)
            centres = [(one[0] + one[-1]) / 2 for one in centres]
            if len(centres) != len(failures) or f'{len(failures)} that failed (×), 1 unsupported (○)' not in chart['legend']:
                problems.append([chart['title'], chart['legend'], centres])
                continue
            night = (centres[1] - centres[0]) / (failures[1] - failures[0])
            near = [x for x in chart['line'] if abs(x - centres[0]) < 0.85 * night]
            before = [x for x in chart['line'] if 1.2 * night < centres[0] - x < 1.8 * night]
            if (near and chart['title'] != 'Kernels') or not before:
                problems.append([chart['title'], near[:5], len(before)])
        check('a run that failed has a mark on the time axis, and lines break there', problems + ([] if len(charts) > 3 else [len(charts)]))
        check('each time axis has three dates or more', [chart['title'] for chart in charts if chart['dates'] < 3])
        memory = next(chart for chart in charts if chart['title'].startswith('Memory'))
        check('what a logarithmic axis has no place for is told in the key', [] if 'peak: 0\u202fB' in memory['key'] else memory['key'])
        self.browser.ask("document.querySelector('.plot').focus()")
        said = []
        for key in ('End', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'Home', 'ArrowRight'):
            self.browser.press(key)
            said.append(self.browser.ask("document.activeElement.parentElement.querySelector('.legend').textContent"))
        check('and its outcome is told where one stands on it', [] if 'failed: crashed' in said[0] and 'failed: wrong' in said[3] and 'failed' not in said[1] + said[2] else said)
        check('what is not supported did not fail', [] if said[5].endswith('· unsupported') else said[5:])
        text = self.browser.ask("document.querySelector('[aria-label=runs]').innerText").split('\n')
        check('and the table has no figures of it', [] if any('wrong' in line for line in text) and not any('wrong' in line and ('ns' in line or 'µs' in line or 'ms' in line) for line in text) else text[:8])

    # --- lists ---

    def listed(self, path):
        """Rows and neighbours of a page of cases, as somebody without JavaScript gets them."""
        text = self.get(path)[1]
        links = {rel: href.replace('&amp;', '&') for rel, href in re.findall(r'<a rel=(next|prev)[^>]* href="([^"]*)"', text)}
        return [(urllib.parse.unquote(name), urllib.parse.unquote(machine)) for name, machine in re.findall(r'<td class=name><a href="/case\?case=([^&]*)&amp;machine=([^"]*)"', text)], links

    def pages(self):
        seen, path, sizes, last = [], '/cases', [], None
        while path:
            rows, links = self.listed(path)
            seen, last, path = seen + rows, path, links.get('next')
            sizes.append(len(rows))
        known = sorted((one['case'], one['machine']) for one in self.json('/api/v1/cases?limit=10000')['cases'])
        check('page by page every case is listed once', [] if sorted(seen) == known and sizes[0] == 200 and len(sizes) == 1 + (len(known) - 1) // 200 else [sizes, len(set(seen)), len(known)])
        back = []
        while last:
            rows, links = self.listed(last)
            back, last = rows + back, links.get('prev')
        check('and so on the way back', [] if back == seen else [len(back)])
        rows = self.listed('/cases?match=many*&limit=7')[0]
        some = self.listed(self.listed('/cases?match=many*&limit=7')[1]['next'])[0]
        check('also of those that match, where a case with two machines stands on the border', [] if rows[-1][0] == some[0][0] and rows + some == [one for one in seen if one[0].startswith('many')][:14] else [rows, some])
        self.regressions()

    def regressions(self):
        for state in ('open', 'closed'):
            known = self.json(query('/api/v1/regressions', state=state))['regressions']
            self.browser.look(1200, HEIGHT)
            self.visit(query('/regressions', state=state))
            shown = self.browser.ask("[document.querySelector('.tabs [aria-current]').textContent, Array.from(document.querySelectorAll('tr .mark')).map(one => one.textContent)]")
            if state == 'open':
                self.open_on_overview(len(known), min(one['started_ms'] for one in known))
                self.visit(query('/regressions', state=state))
            check(f'{state} regressions are a view of their own', [] if shown == [f'{state.capitalize()} {len(known)}', [state] * len(known)] and known else [shown, len(known)])
        runs = self.get(self.views['case'])[1]
        older = re.search(r'rel=next accesskey=n href="([^"]*)"', runs)
        times = [re.findall(r'<time datetime=(\S+)', text.split('<h2 id=runs>Runs</h2>')[1].split('</section>')[0]) for text in (runs, self.get(older.group(1).replace('&amp;', '&'))[1])] if older else []
        check('older runs of a case are on a further page', [] if older and times[1] and max(times[1]) < min(times[0]) else ['none'])

    def open_on_overview(self, count, oldest):
        days = int((time.time() * 1000 - oldest) // (24 * 3600 * 1000))
        self.visit('/')
        shown = self.browser.ask("Array.from(document.querySelectorAll('.tiles li')).filter(one => one.querySelector('a[href=\"/regressions?state=open\"]')).map(one => one.textContent)")
        text = self.browser.ask('document.querySelector("main").innerText')
        said = re.search(r'the oldest one is open for (\d+) days?\.', text)
        check('the overview says how many regressions are open, with a link to them, and for how long', [] if shown == [f'{count} open regression' + ('s' if count > 1 else '')] and 'Open the longest' in text
              and said and abs(int(said.group(1)) - days) <= 1 and self.json('/api/v1/overview')['open_regressions']['count'] == count else [shown, count, said, days])

    # --- without JavaScript, by keys ---

    def plain(self):
        for width in (400, 1200):
            self.browser.look(width, HEIGHT, scripts=False)
            for name, path in self.views.items():
                self.visit(path, scripts=False)
                problems = list(self.browser.complaints)
                found = self.browser.ask("[document.querySelectorAll('canvas').length, document.querySelectorAll('td, pre').length, document.documentElement.scrollWidth]")
                if found[0] or not found[1] or found[2] > width:
                    problems.append(found)
                if name in ('case', 'ablation', 'comparison') and self.browser.ask("document.querySelectorAll('.data a').length") < 2:
                    problems.append('no links to data')
                if not self.picture(f'{name} {width} plain', width):
                    problems.append('the picture has another size')
                check(f'without JavaScript: {name} {width}', problems)
        self.visit(self.views['case'], scripts=False)
        rows = self.browser.ask("Array.from(document.querySelectorAll('[aria-label=runs] tr')).length")
        text = self.browser.ask("document.querySelector('[aria-label=runs]').innerText")
        check('without JavaScript the table of runs has what the charts show', [] if rows == 61 and ' to ' in text and '[' in text and 'µs' in text + 'µs' else [rows, text[:200]])
        self.undrawn()

    def undrawn(self):
        """Each figure of a chart, as its data has it, is in the newest row of the table; and that row's date is seen however far one scrolls."""
        self.browser.look(400, HEIGHT, scripts=False)
        problems = []
        for name in ('case', 'a case with kernels and switches'):
            self.visit(self.views[name], scripts=False)
            cells = self.browser.ask("Array.from(document.querySelectorAll('[aria-label=runs] tr')).slice(0, 2).map(row => Array.from(row.children).map(cell => cell.textContent))")
            shown = dict(zip(*cells))
            address = urllib.parse.urlparse(self.views[name])
            point = self.json('/api/v1/series?' + address.query)['points'][-1]
            known = {column: point[figure] for column, figure in COLUMNS.items() if point[figure] is not None and (figure != 'value' or point['probe'])}
            problems += [[name, column, shown.get(column), value] for column, value in known.items() if not abs(amount(shown.get(column)) - value) <= 0.01 * value]
            problems += [] if known else [name + ' has none of them']
            problems += [name + ' does not say where figures are'] if 'table of runs' not in self.browser.ask("document.querySelector('main').innerText") else []
            left = self.browser.ask("(() => { const area = document.querySelector('[aria-label=runs]'), cell = area.querySelector('td'); area.scrollLeft = 10000;"
                                    " return [area.scrollLeft, cell.getBoundingClientRect().left - area.getBoundingClientRect().left]; })()")
            problems += [] if left[0] > 100 and 0 <= left[1] < 5 else [left]
        check('and so it has what no other table has: the probe, memory, code, kernels, instructions; the date stays in sight', problems)

    def focus(self):
        return self.browser.ask("(() => { const one = document.activeElement, look = getComputedStyle(one); return { tag: one.tagName, text: (one.textContent || '').slice(0, 60), seen: look.outlineStyle !== 'none'"
                                " && parseFloat(look.outlineWidth) >= 2, role: one.getAttribute('role'), rel: one.getAttribute('rel') }; })()")

    def tab_to(self, wanted, most=2000):
        """Presses Tab until what has the focus is wanted; the focuses on the way that nobody could see."""
        unseen = []
        for _ in range(most):
            self.browser.press('Tab')
            at = self.focus()
            if not at['seen']:
                unseen.append(at)
            if wanted(at):
                return at, unseen
        return None, unseen

    def keys(self):
        self.browser.look(1200, HEIGHT)
        self.visit('/')
        at, unseen = self.tab_to(lambda one: one['text'] == 'to the content', 1)
        self.browser.press('Enter')
        check('the first key leads to the content', [] if at and self.browser.wait("location.hash === '#main'") else [self.focus()])
        at, unseen = self.tab_to(lambda one: one['tag'] == 'A' and '/' in one['text'])
        self.browser.press('Enter')
        check('by keys from the overview to a case; one always sees where one is', unseen + ([] if at and self.browser.wait("location.pathname === '/case'") else [at]))
        self.visit(self.views['case'])
        at, unseen = self.tab_to(lambda one: one['role'] == 'application')
        words = []
        for key in ('Home', 'ArrowRight', 'ArrowLeft', 'End'):
            self.browser.press(key)
            words.append(self.browser.ask("document.activeElement.parentElement.querySelector('.legend').textContent"))
        points = self.json(query('/api/v1/series', case=self.case, machine=self.machine))['points']
        expected = [points[i]['commit'] for i in (0, 1, 0, -1)]
        check('arrows go from run to run of a chart', unseen + [word for word, commit in zip(words, expected) if commit not in word or not re.search(r'\[.*ms\]', word)])
        dates, seen = "Array.from(document.activeElement.querySelectorAll('.dygraph-axis-label-x')).map(one => one.textContent).join()", []
        for key in ('+', '+', '-', '0'):
            seen.append(self.browser.ask(dates))
            self.browser.press(key)
        seen.append(self.browser.ask(dates))
        check('plus and minus zoom, 0 shows all', [] if seen[0] == seen[4] and len({seen[0], seen[1], seen[2]}) == 3 and seen[3] == seen[1] else seen)
        self.browser.press('Enter')
        check('and Enter opens the result of one', [] if self.browser.wait(f"location.pathname === '/result' && location.search === '?key={points[-1]['key']}'") else [self.browser.ask('location.href')])
        self.visit('/cases')
        at, unseen = self.tab_to(lambda one: one['rel'] == 'next')
        self.browser.press('Enter')
        check('by keys to the next page of cases', [] if at and self.browser.wait("location.search.startsWith('?after=')") else [at])
        self.browser.wait("document.readyState === 'complete'")
        second = self.browser.ask('location.href')
        self.browser.press('n', alt=True)
        check('or by its access key', [] if self.browser.wait(f"location.href !== {json.dumps(second)} && location.search.startsWith('?after=')") else [second])


def main(program, profile, address, folder):
    browser = Browser(program, profile)
    reader = Reader(browser, address, folder)
    for part in (reader.history, reader.ablation, reader.case_page, reader.pages, reader.colours, reader.keys, reader.plain, reader.look):
        part()
    browser.close()


if __name__ == '__main__':
    main(*sys.argv[1:])
