/* Makes charts of the series that a page names (figure.chart); without this the page's tables say the same. */
(function () {
  'use strict';
  const figures = Array.from(document.querySelectorAll('figure.chart'));
  if (!figures.length || typeof Dygraph === 'undefined') return;

  /* We tell values ourselves; its legend would write styles into the page, which our policy forbids. */
  Dygraph.PLUGINS = Dygraph.PLUGINS.filter(plugin => plugin !== Dygraph.Plugins.Legend);

  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const requests = new Map();

  function fetchSeries(figure) {
    const query = new URLSearchParams({ case: figure.dataset.case, machine: figure.dataset.machine, limit: '2000' });
    const url = '/api/v1/series?' + query;
    if (!requests.has(url)) requests.set(url, fetch(url).then(answer => { if (!answer.ok) throw new Error(answer.statusText); return answer.json(); }));
    return requests.get(url);
  }

  function unitOf(figure, points) {
    if (figure.dataset.unit !== 'ns') return { scale: 1, name: figure.dataset.unit };
    const most = Math.max(...points.map(point => point[figure.dataset.middle] || 0));
    const units = [{ scale: 1e9, name: 's' }, { scale: 1e6, name: 'ms' }, { scale: 1e3, name: 'µs' }, { scale: 1, name: 'ns' }];
    return units.find(unit => most >= unit.scale) || units[3];
  }

  /* [date, [low, middle, high]] of each point that has the figure. */
  function rowsOf(figure, points, unit) {
    const { middle, low, high } = figure.dataset;
    return points.map(point => {
      const value = point[middle] / unit.scale;
      const bottom = low && point[low] !== null ? point[low] / unit.scale : value, top = high && point[high] !== null ? point[high] / unit.scale : value;
      return [new Date(point.started_ms), [bottom, value, top]];
    });
  }

  function drawSteps(changes) {
    return (context, area, chart) => {
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
    };
  }

  function draw(figure, series) {
    const points = series.points.filter(point => point[figure.dataset.middle] !== null);
    if (points.length < 2) return;
    const unit = unitOf(figure, points), legend = document.createElement('div'), plot = figure.querySelector('.plot');
    figure.classList.add('drawn');
    figure.querySelector('figcaption').textContent = figure.dataset.title + ' (' + unit.name + ')';
    legend.className = 'legend';
    legend.setAttribute('aria-live', 'polite');
    const changes = figure.dataset.middle === 'steady' ? series.changes : []; /* they are of its times */
    legend.textContent = points.length + ' runs' + (changes.length ? '; lines: change points (dashed: faster)' : '');
    figure.append(legend);
    const say = row => {
      const point = points[row], shown = value => (value / unit.scale).toPrecision(4);
      const band = figure.dataset.low && point[figure.dataset.low] !== null ? ' [' + shown(point[figure.dataset.low]) + ', ' + shown(point[figure.dataset.high]) + ']' : '';
      legend.textContent = new Date(point.started_ms).toISOString().slice(0, 16).replace('T', ' ') + ' · ' + point.commit + ' · ' + shown(point[figure.dataset.middle]) + band + ' ' + unit.name;
    };
    const chart = new Dygraph(plot, rowsOf(figure, points, unit), {
      labels: ['run', figure.dataset.title], customBars: true, colors: [style('--series')], fillAlpha: 0.22, strokeWidth: 1.5, drawPoints: points.length < 200, pointSize: 2.5,
      gridLineColor: style('--line'), axisLineColor: style('--line'), underlayCallback: drawSteps(changes), animatedZooms: false,
      axes: { y: { axisLabelWidth: 56, axisLabelFormatter: value => String(Number(value.toPrecision(4))) } }, rightGap: 12,
      highlightCallback: (event, x, items, row) => say(row),
      pointClickCallback: (event, item) => { const key = points[item.idx].key; if (key) location.href = '/result?key=' + key; },
    });
    /* By keys: arrows go from run to run, Enter opens its result. */
    let at = points.length - 1;
    plot.tabIndex = 0;
    plot.setAttribute('role', 'application');
    plot.setAttribute('aria-label', figure.dataset.title + ': arrow keys go from run to run, Enter opens the result');
    plot.addEventListener('keydown', event => {
      if (event.key === 'ArrowLeft') at = Math.max(0, at - 1);
      else if (event.key === 'ArrowRight') at = Math.min(points.length - 1, at + 1);
      else if (event.key === 'Enter' && points[at].key) location.href = '/result?key=' + points[at].key;
      else return;
      event.preventDefault();
      chart.setSelection(at);
      say(at);
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => chart.updateOptions({ colors: [style('--series')], gridLineColor: style('--line'), axisLineColor: style('--line') }));
  }

  for (const figure of figures) fetchSeries(figure).then(series => draw(figure, series)).catch(() => { figure.hidden = true; });
})();
