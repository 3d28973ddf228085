/* Makes charts of the series that a page names (figure.chart); without this the page's tables say the same. */
(function () {
  'use strict';
  const figures = Array.from(document.querySelectorAll('figure.chart'));
  if (!figures.length || typeof Dygraph === 'undefined') return;

  /* We tell values ourselves; its legend would write styles into the page, which our policy forbids. */
  Dygraph.PLUGINS = Dygraph.PLUGINS.filter(plugin => plugin !== Dygraph.Plugins.Legend);

  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dashes = [null, [7, 4], [2, 3]]; /* of the first, second and third line of a chart: they differ without colours too */
  const colours = () => ['--series', '--series-2', '--series-3'].map(style);
  const units = {
    ns: [{ scale: 1e9, name: 's' }, { scale: 1e6, name: 'ms' }, { scale: 1e3, name: 'µs' }, { scale: 1, name: 'ns' }],
    B: [{ scale: 1e9, name: 'GB' }, { scale: 1e6, name: 'MB' }, { scale: 1e3, name: 'kB' }, { scale: 1, name: 'B' }],
  };
  const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 4 });
  const requests = new Map();

  function fetchSeries(figure) {
    const url = figure.dataset.series;
    if (!requests.has(url)) requests.set(url, fetch(url).then(answer => { if (!answer.ok) throw new Error(answer.statusText); return answer.json(); }));
    return requests.get(url);
  }

  /* The largest unit that a value has one of. */
  const unitFor = (kind, value) => (units[kind] || []).find(unit => value >= unit.scale) || (units[kind] || [{ scale: 1, name: kind }]).at(-1);
  const digits = (value, count) => Math.abs(value) >= 1e5 ? compact.format(value) : String(Number(value.toPrecision(count)));
  const told = (kind, value, count) => { const unit = unitFor(kind, Math.abs(value)); return digits(value / unit.scale, count) + (unit.name ? '\u202f' + unit.name : ''); };

  /* What a figure says of its chart. */
  function planOf(figure) {
    const { figures: names, names: shown, unit, low, high, title } = figure.dataset;
    const lines = names.split(',');
    return { lines, shown: shown ? shown.split(',') : [title], unit, low, high, title, logarithmic: 'log' in figure.dataset, changes: 'changes' in figure.dataset, probed: 'probed' in figure.dataset, runs: Number(figure.dataset.runs) };
  }

  const absent = point => point.outcome !== 'ok'; /* it has no figures */
  const unsupported = point => point.outcome === 'unsupported'; /* not built here: that is no failure */
  const whyNot = point => (unsupported(point) ? '' : 'failed: ') + point.outcome;

  /* [date, value…] of each point; a line with a band has [low, value, high] in the place of its value. Lines go on over null, and break at NaN: where a
   * run has none. */
  function rowsOf(plan, points) {
    return points.map(point => [new Date(point.started_ms)].concat(plan.lines.map(line => {
      const value = absent(point) ? NaN : point[line];
      if (!plan.low) return value;
      if (absent(point)) return [NaN, NaN, NaN];
      return [point[plan.low] === null ? value : point[plan.low], value, point[plan.high] === null ? value : point[plan.high]];
    })));
  }

  function drawSteps(changes, context, area, chart) {
    for (const change of changes) {
      const x = chart.toDomXCoord(change.started_ms);
      if (x < area.x || x > area.x + area.w) continue;
      context.strokeStyle = style(change.slower ? '--step-slower' : '--step-faster');
      context.setLineDash(change.slower ? [] : [5, 4]);
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(x, area.y);
      context.lineTo(x, area.y + area.h);
      context.stroke();
      context.setLineDash([]);
    }
  }

  /* On the time axis a cross for each run that failed, a ring for one that was not supported, and its outcome beside it where there is room. */
  function drawAbsent(points, em, context, area, chart) {
    const arm = em / 3, y = area.y + area.h - 2 * arm, end = area.x + area.w;
    let taken = -Infinity;
    context.lineWidth = 2;
    context.font = em + 'px sans-serif';
    context.textBaseline = 'alphabetic';
    for (const point of points.filter(absent)) {
      const x = chart.toDomXCoord(point.started_ms), width = context.measureText(point.outcome).width;
      if (x < area.x - 1 || x > end + 1) continue;
      context.strokeStyle = context.fillStyle = style(unsupported(point) ? '--quiet' : '--slower');
      context.beginPath();
      if (unsupported(point)) context.arc(x, y, arm, 0, 2 * Math.PI);
      else for (const slope of [1, -1]) {
        context.moveTo(x - arm, y - slope * arm);
        context.lineTo(x + arm, y + slope * arm);
      }
      context.stroke();
      const from = Math.min(Math.max(x - width / 2, area.x), end - width);
      if (from < taken) continue;
      context.fillText(point.outcome, from, y - 2 * arm);
      taken = from + width + em / 2;
    }
  }

  /* --- the time axis: as many dates as there is room for, in equal steps, in the middle of what is shown --- */

  const minute = 60e3, hour = 60 * minute, day = 24 * hour;
  const timeSteps = [1, 2, 5, 10, 15, 20, 30].map(n => n * minute).concat([1, 2, 3, 4, 6, 8, 12].map(n => n * hour));
  const daySteps = [1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90].map(n => n * day), monthSteps = [1, 2, 3, 4, 6, 9, 12, 18, 24, 36, 60, 120, 240, 600];
  const monthOf = date => 12 * date.getUTCFullYear() + date.getUTCMonth();

  /* Whole numbers between two ends, so many apart. */
  function between(first, last, step) {
    const count = Math.max(0, Math.floor((last - first) / step)), rest = Math.floor((last - first - count * step) / 2);
    return first > last ? [] : Array.from({ length: count + 1 }, (_, i) => first + rest + i * step);
  }

  function ticksOf(from, to, most) {
    const fits = step => (to - from) / step <= most, step = timeSteps.concat(daySteps).find(fits);
    if (step && to - from < 300 * day) {
      const unit = step < hour ? minute : step < day ? hour : day;
      return { step, times: between(Math.ceil(from / unit), Math.floor(to / unit), step / unit).map(n => n * unit) };
    }
    const first = monthOf(new Date(from - 1)) + 1, last = monthOf(new Date(to)), months = monthSteps.find(n => (last - first) / n <= most) || monthSteps.at(-1);
    return { step: 30 * day * months, times: between(first, last, months).map(n => Date.UTC(Math.floor(n / 12), n % 12)) };
  }

  /* Below a time its day, and below a day its year, where it is another one than before. */
  function ticker(em) {
    return (from, to, pixels) => {
      const place = 4.6 * em, edge = (to - from) * place / 2 / pixels; /* a label's middle stays half its width from the ends: the other axis has labels there */
      const { step, times: whole } = ticksOf(from + edge, to - edge, pixels / place - 1);
      const times = whole.length > 2 ? whole : [from + edge, (from + to) / 2, to - edge]; /* too few midnights: dates they are all the same */
      const told = (time, options) => new Date(time).toLocaleString('en-GB', { timeZone: 'UTC', ...options }), date = { day: 'numeric', month: 'short' };
      let above = '';
      return times.map(v => {
        const main = told(v, step < day ? { hour: '2-digit', minute: '2-digit' } : step < 30 * day || to - from < 300 * day ? date : { month: 'short' });
        const rest = told(v, step < day ? date : { year: 'numeric' }), label = rest === above ? main : main + '<br>' + rest;
        above = rest;
        return { v, label };
      });
    };
  }

  /* A logarithmic axis has no place for 0. */
  function zerosOf(plan, line, points) {
    const known = points.filter(point => point[line] !== null), zeros = known.filter(point => point[line] === 0).length;
    if (!plan.logarithmic || !zeros) return '';
    return ': ' + told(plan.unit, 0, 3) + (zeros < known.length ? ' in ' + zeros + ' of ' + known.length + ' runs' : '');
  }

  /* Which line is which: a piece of it beside its name. */
  function keyOf(plan, points) {
    const list = document.createElement('ul'), space = 'http://www.w3.org/2000/svg';
    list.className = 'key';
    plan.shown.forEach((name, i) => {
      const item = document.createElement('li'), piece = document.createElementNS(space, 'svg'), line = document.createElementNS(space, 'line');
      for (const [attribute, value] of Object.entries({ x1: 0, x2: 28, y1: 6, y2: 6, class: 'series-' + (i + 1), 'stroke-dasharray': (dashes[i] || []).join(' ') || 'none' })) line.setAttribute(attribute, value);
      piece.append(line);
      item.append(piece, name + zerosOf(plan, plan.lines[i], points));
      list.append(item);
    });
    return list;
  }

  function draw(figure, series) {
    const plan = planOf(figure), known = series.points.filter(point => !absent(point) && plan.lines.some(line => point[line] !== null));
    const measured = plan.probed ? known.filter(point => point.probe === known.at(-1).probe) : known; /* those over another probe, or none, have another scale */
    const drawn = new Set(measured), points = series.points.filter(point => absent(point) || drawn.has(point));
    const legend = document.createElement('div'), plot = figure.querySelector('.plot');
    legend.className = 'legend';
    legend.setAttribute('aria-live', 'polite');
    plot.after(legend);
    if (measured.length < 2) {
      legend.textContent = measured.length + ' run so far: a chart needs two';
      return;
    }
    const one = plan.lines.length === 1, most = Math.max(...measured.map(point => point[plan.lines[0]] || 0)), unit = unitFor(plan.unit, most);
    figure.classList.add('drawn');
    const remarks = [one && unit.name, plan.logarithmic && 'logarithmic', series.points.length < plan.runs && `the newest ${series.points.length} of ${plan.runs} runs`].filter(Boolean);
    if (remarks.length) figure.querySelector('figcaption').textContent = plan.title + ' (' + remarks.join(', ') + ')';
    if (!one) plot.before(keyOf(plan, measured));
    const changes = plan.changes ? series.changes : [];
    const lacking = points.filter(absent), without = lacking.filter(unsupported).length, failures = lacking.length - without;
    legend.textContent = measured.length + ' runs' + (failures ? ', ' + failures + ' that failed (×)' : '') + (without ? ', ' + without + ' unsupported (○)' : '') + (plan.low ? '; band: ' + (plan.changes ? '5% to 95% of the samples' : '95% interval') : '') + (changes.length ? '; lines: change points (dashed: faster)' : '');
    const say = row => {
      const point = points[row], when = new Date(point.started_ms).toISOString().slice(0, 16).replace('T', ' ') + ' · ' + point.commit + ' · ';
      if (absent(point)) {
        legend.textContent = when + whyNot(point);
        return;
      }
      const value = line => point[line] === null ? '–' : told(plan.unit, point[line], 4);
      const band = plan.low && point[plan.low] !== null ? ' [' + value(plan.low) + ', ' + value(plan.high) + ']' : '';
      const values = plan.lines.map((line, i) => (one ? '' : plan.shown[i] + ' ') + value(line)).join(', ');
      legend.textContent = when + values + band;
    };
    const whole = !plan.unit; /* a count */
    const label = value => whole && value % 1 ? '' : one ? digits(value / unit.scale, 4) : told(plan.unit, value, 3);
    const paint = () => ({ colors: colours().slice(0, plan.lines.length), gridLineColor: style('--line'), axisLineColor: style('--axis') });
    const em = matchMedia('(min-width: 2400px)').matches ? 17 : 12; /* as style.css has it */
    const looks = Object.fromEntries(plan.shown.map((name, i) => [name, { strokePattern: dashes[i] }]));
    const chart = new Dygraph(plot, rowsOf(plan, points), Object.assign(paint(), {
      labels: ['run'].concat(plan.shown), series: looks, customBars: Boolean(plan.low), logscale: plan.logarithmic, fillAlpha: 0.22, strokeWidth: 1.5, xRangePad: 8, drawPoints: points.length < 200, pointSize: 2.5,
      connectSeparatedPoints: true, labelsUTC: true, underlayCallback: (...where) => { drawSteps(changes, ...where); drawAbsent(points, em, ...where); }, xAxisHeight: 3.2 * em, animatedZooms: false, rightGap: 12, stepPlot: whole, yRangePad: whole ? 24 : 8,
      axes: { x: { axisLabelWidth: 4.4 * em, ticker: ticker(em) }, y: { axisLabelWidth: (one ? 4.7 : 5.4) * em, axisLabelFormatter: label, pixelsPerLabel: 2.2 * em } },
      highlightCallback: (event, x, items, row) => say(row),
      pointClickCallback: (event, item) => { const key = points[item.idx].key; if (key) location.href = '/result?key=' + key; },
    }));
    /* By keys: arrows go from run to run, Enter opens its result; plus and minus zoom around the run, 0 shows all. */
    let at = points.length - 1;
    const ends = [points[0].started_ms, points[at].started_ms];
    const zoom = factor => {
      const [from, to] = chart.xAxisRange(), half = (to - from) / 2 * factor, middle = Math.min(Math.max(points[at].started_ms, ends[0] + half), ends[1] - half);
      chart.updateOptions({ dateWindow: 2 * half < ends[1] - ends[0] ? [middle - half, middle + half] : null });
    };
    plot.tabIndex = 0;
    plot.setAttribute('role', 'application');
    plot.setAttribute('aria-label', plan.title + ': arrow keys go from run to run, Home and End to the first and last, Enter opens the result; plus and minus zoom, 0 shows all');
    plot.addEventListener('keydown', event => {
      if (event.key === 'ArrowLeft') at = Math.max(0, at - 1);
      else if (event.key === 'ArrowRight') at = Math.min(points.length - 1, at + 1);
      else if (event.key === 'Home') at = 0;
      else if (event.key === 'End') at = points.length - 1;
      else if (event.key === '+' || event.key === '-') zoom(event.key === '+' ? 0.5 : 2);
      else if (event.key === '0') chart.updateOptions({ dateWindow: null });
      else if (event.key === 'Enter' && points[at].key) location.href = '/result?key=' + points[at].key;
      else return;
      event.preventDefault();
      chart.setSelection(at);
      say(at);
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => chart.updateOptions(paint()));
  }

  for (const figure of figures)
    fetchSeries(figure).then(series => draw(figure, series)).catch(error => { figure.querySelector('figcaption').append(' – the data could not be read: ' + error.message); });
})();
