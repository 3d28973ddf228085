"""Strict readers of JUnit XML, of pages, and of rendered Markdown (reports.py has the others)."""
import html.parser, re, xml.etree.ElementTree as tree

from report_documents import must, Wrong


def read_xml(text):
    must(not re.search('[\x00-\x08\x0b\x0c\x0e-\x1f]', text), 'a character that XML has not')
    try:
        return tree.fromstring(text.encode())
    except tree.ParseError as e:
        raise Wrong(str(e))


def junit_suites(text):
    """The elements and attributes that Jenkins' and Ant's schemas share; counts must be those of the elements."""
    must(text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n'), 'no declaration')
    root = read_xml(text)
    must(root.tag == 'testsuites', root.tag)
    attributes = {'testsuites': {'tests', 'failures', 'errors', 'skipped', 'time', 'name'}, 'testsuite': {'name', 'tests', 'failures', 'errors', 'skipped', 'hostname', 'timestamp', 'time'},
                  'testcase': {'name', 'classname', 'time'}, 'failure': {'type', 'message'}, 'error': {'type', 'message'}, 'skipped': {'message'}, 'system-out': set()}
    children = {'testsuites': {'testsuite'}, 'testsuite': {'testcase'}, 'testcase': {'failure', 'error', 'skipped', 'system-out'}}
    for element in root.iter():
        must(element.tag in attributes and set(element.attrib) <= attributes[element.tag], f'{element.tag} {element.attrib}')
        must(all(child.tag in children.get(element.tag, ()) for child in element), f'{element.tag} holds another element')
        if 'time' in element.attrib:
            must(re.fullmatch(r'\d+(\.\d+)?', element.get('time')), f"time {element.get('time')}")
        if element.tag == 'testcase':
            must(element.get('name') and element.get('classname') and sum(c.tag != 'system-out' for c in element) <= 1, 'testcase')
        if 'tests' in element.attrib:
            must(int(element.get('tests')) == len(list(element.iter('testcase'))), f'{element.tag}: tests')
            for attribute, tag in (('failures', 'failure'), ('errors', 'error'), ('skipped', 'skipped')):
                must(int(element.get(attribute)) == len(list(element.iter(tag))), f'{element.tag}: {attribute}')
    return root


def flat(text):
    """An attribute has no line ends and tabs."""
    return re.sub('[\n\t]', ' ', text)


def read_junit(text, documents):
    found, failed = {}, {}
    names = {'steady_ns': 'steady', 'speedup_ratio': 'speedup', 'cold_ns': 'cold', 'disk_ns': 'disk', 'kernels': 'kernels', 'library_calls': 'library_calls', 'code_bytes': 'code',
             'pays_off_calls': 'pays_off_calls'}
    for test in junit_suites(text).iter('testcase'):
        kinds = [c.tag for c in test if c.tag != 'system-out']
        if kinds:
            failed[test.get('name')] = kinds[0]
            continue
        figures = found.setdefault(test.get('name'), {})
        number, seen = r'(-?\d+(?:\.\d+)?(?:e[-+]\d+)?)', set()
        for line in test.find('system-out').text.splitlines():
            match = re.fullmatch(rf'(\w+) {number}(?: \[{number}, {number}\])?', line)
            must(match and match[1] not in seen, f'a figure: {line}')
            name, value = match[1], match[2]
            seen.add(name)
            if name in names:
                figures[names[name]] = float(value)
    cut = [d for d in documents if not d['finished'] or d['interrupted']]
    must((failed.pop('the whole', None) == 'error') == bool(cut), 'a run that did not end is an error')
    expected = {flat(one['id']): {'wrong': 'failure', 'unsupported': 'skipped'}.get(one['outcome'], 'error') for d in documents for one in d['cases'] if one['outcome'] != 'ok'}
    must(failed == expected, f'failures: {failed}')
    return found


def read_junit_comparison(text, documents):
    kinds = {}
    for test in junit_suites(text).iter('testcase'):
        kinds[test.get('name')] = [c.tag for c in test if c.tag != 'system-out']
    for document in documents:
        for one in document['cases']:
            verdict = (one['time'] or {}).get('verdict')
            expected = ['failure'] if one['exit'] == 1 else ['error'] if one['exit'] else ['skipped'] if verdict == 'UNSURE' else []
            must(kinds.get(flat(one['id'])) == expected, f"{one['id']}: {kinds.get(one['id'])}, not {expected}")
        must(not document['problems'] or kinds.get('the whole') == ['error'], 'problems of the whole')
    return None


class Page(html.parser.HTMLParser):
    """A page that stands alone: every element is closed, nothing is fetched, no script."""
    VOID = {'meta', 'br', 'link', 'img', 'input', 'hr'}
    KNOWN = {'html', 'head', 'meta', 'title', 'style', 'body', 'main', 'h1', 'h2', 'h3', 'section', 'p', 'div', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'figure', 'figcaption', 'svg', 'line',
             'text', 'path', 'g', 'circle', 'rect', 'ul', 'li', 'details', 'summary', 'code', 'span', 'br', 'pre', 'strong', 'em', 'del'}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.rows, self.text, self.cell = [], [], '', None

    def handle_starttag(self, tag, attrs, closed=False):
        must(tag in self.KNOWN, f'<{tag}>')
        for name, value in attrs:
            must(not name.startswith('on') and name not in ('src', 'href', 'srcset', 'style'), f'{tag} {name}={value}')
            must(not re.search(r'nan|inf(?!o|i)', value or '') or name in ('class', 'content'), f'{tag} {name}={value}')
        if tag not in self.VOID and not closed:
            self.open.append(tag)
        if tag == 'tr':
            self.rows.append([])
        if tag in ('td', 'th'):
            self.cell = ''

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs, True)

    def handle_endtag(self, tag):
        must(self.open and self.open[-1] == tag, f'</{tag}> closes {self.open[-1:]}')
        self.open.pop()
        if tag in ('td', 'th'):
            self.rows[-1].append(self.cell)
            self.cell = None

    def handle_data(self, data):
        if self.open and self.open[-1] == 'style':
            must('url(' not in data and '@import' not in data, 'the style fetches something')
            return
        must(not re.search(r'(?<![a-z])(nan|inf)(?![a-z])', data, re.I), f'no figure: {data[:60]}')
        self.text += data
        if self.cell is not None:
            self.cell += data.replace('\xa0', ' ')


def read_page(text):
    must(not re.search('[\x00-\x08\x0b\x0c\x0e-\x1f]', text), 'a control character')
    page = Page()
    page.feed(text)
    page.close()
    must(not page.open, f'not closed: {page.open}')
    return page


def whitespace(text):
    return ' '.join(text.split())


def printed(value):
    a = abs(value)
    return f'{value:.{2 if a < 9.995 else 1 if a < 99.95 else 0}f}'


def rows_match(page, documents):
    for document in documents:
        for one in document['cases']:
            if one['outcome'] == 'ok':
                s = one['speedup']
                wanted = [str(one['case']['batch']), printed(one['steady']['median_ns'] / 1e3), f"{s['ratio']:.2f} [{s['lo']:.2f}, {s['hi']:.2f}]"]
                must(any(row and row[0] == wanted[0] and wanted[1] in row and wanted[2] in row for row in page.rows), f"no row of {one['id']}: {wanted}")
            elif one['outcome'] != 'unsupported':
                must('2.78 [1.12, 6.91]' not in page.text.replace('\xa0', ' '), 'the speedup of a wrong result')
                must(whitespace(one['id']) in whitespace(page.text) and whitespace(one['error']) in whitespace(page.text), f"nothing of {one['id']}")


def read_html(text, documents):
    must(text.startswith('<!DOCTYPE html>\n'), 'no doctype')
    rows_match(read_page(text), documents)
    return None


def read_html_comparison(text, documents):
    page = read_page(text)
    for document in documents:
        for one in document['cases']:
            must(any(row and whitespace(row[0]) == whitespace(one['id']) for row in page.rows), f"no row of {one['id']}")
        moved = [row[0] for row in page.rows if len(row) > 1]
        must(moved.index('s/crashed') < moved.index('s/much slower') < moved.index('s/slower') < moved.index('s/noisy') < moved.index('s/faster|x'), 'the ranking') if 's/crashed' in moved else None
    return None


def read_markdown(text, documents):
    """`text` is what a renderer of GitHub's Markdown made of the report."""
    must(len(text) < 500000, 'too long')
    rows_match(read_page(text), documents)
    return None


def read_markdown_comparison(text, documents):
    return read_html_comparison(text, documents)
