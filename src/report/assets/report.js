// Draws the charts of a report from the data in the page. Everything that a chart shows also stands
// in the page as text; without this script only the drawings are missing.
(function () {
  'use strict';

  const data = JSON.parse(document.getElementById('chart-data').textContent);
  const charts = [];

  // Colours, from the page's style; paper always gets the light ones, which print.
  function palette(paper) {
    if (paper) {
      return {ink: '#1b1f24', muted: '#57606a', line: '#dfe3e8', ground: '#ffffff',
              accent: '#1f5fbf', soft: '#1f5fbf33', second: '#b3541e'};
    }
    const style = getComputedStyle(document.documentElement);
    const read = name => style.getPropertyValue(name).trim();
    return {ink: read('--ink'), muted: read('--muted'), line: read('--line'),
            ground: read('--ground'), accent: read('--accent'), soft: read('--accent-soft'),
            second: read('--second')};
  }
  let colors = palette(false);

  const isNumber = value => typeof value === 'number' && isFinite(value);

  // The unit in which a latency of `ns` reads well: {size in ns, name}.
  function timeUnit(ns) {
    if (ns >= 1e9) return {size: 1e9, name: 's'};
    if (ns >= 1e6) return {size: 1e6, name: 'ms'};
    if (ns >= 1e3) return {size: 1e3, name: '\u00b5s'};
    return {size: 1, name: 'ns'};
  }

  function digits(value, count) {
    if (!isNumber(value)) return '\u2013';
    if (value === 0) return '0';
    const size = Math.abs(value);
    if (size < 1e-3 || size >= 1e9) return value.toExponential(Math.min(2, count - 1));
    return value.toLocaleString('en', {maximumSignificantDigits: Math.max(
        count, Math.floor(Math.log10(size)) + 1)});
  }

  const time = ns => digits(ns / timeUnit(ns).size, 4) + ' ' + timeUnit(ns).name;

  // Axes that look the same everywhere.
  function axis(label, values, more) {
    return Object.assign({
      stroke: () => colors.muted, font: '12px ' + getComputedStyle(document.body).fontFamily,
      labelFont: '12px ' + getComputedStyle(document.body).fontFamily, label, labelSize: 20,
      labelGap: 0, size: 30, gap: 5, values,
      grid: {stroke: () => colors.line, width: 1}, ticks: {show: false}, border: {show: false},
    }, more);
  }
  const xAxis = (label, values, more) => axis(label, values, Object.assign(
      {grid: {show: false}, border: {show: true, stroke: () => colors.line, width: 1}}, more));
  const yAxis = (label, values, more) => axis(label, values, Object.assign({size: 58}, more));

  const plainTicks = (u, ticks) => ticks.map(value => value == null ? '' : digits(value, 2));

  // Of a logarithmic axis: the powers of ten only.
  const powers = (u, ticks) => ticks.map(
      tick => Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-9 ? tick : null);

  // Ticks of a logarithmic axis from `low` to `high`: powers of ten, or 1, 2 and 5 times those
  // where there are few.
  function logTicks(low, high) {
    const steps = Math.log10(high / low) > 2 ? [1] : [1, 2, 5];
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
      ticks.push(...steps.map(step => step * Math.pow(10, power)));
    }
    return ticks.filter(tick => low <= tick && tick <= high);
  }

  // A box that follows the pointer; `lines(index)` gives its text.
  function tooltip(lines) {
    let box;
    return {hooks: {
      init: u => {
        box = document.createElement('div');
        box.className = 'tip';
        u.over.appendChild(box);
      },
      setCursor: u => {
        const text = u.cursor.idx == null || u.cursor.left < 0 ? [] : lines(u.cursor.idx, u);
        box.style.display = text.length ? 'block' : 'none';
        if (!text.length) return;
        box.replaceChildren(...text.map(line => {
          const row = document.createElement('div');
          row.textContent = line;
          return row;
        }));
        const right = u.cursor.left > u.over.clientWidth / 2;
        box.style.left = (u.cursor.left + (right ? -12 - box.offsetWidth : 12)) + 'px';
        box.style.top = Math.max(0, Math.min(
            u.cursor.top - 14, u.over.clientHeight - box.offsetHeight)) + 'px';
      },
    }};
  }

  // Draws with the canvas clipped to the plot area; `paint(ctx, u, x, y)` gets functions from
  // values to pixels.
  function drawing(hook, paint) {
    return {hooks: {[hook]: u => {
      const ctx = u.ctx;
      ctx.save();
      ctx.beginPath();
      ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      ctx.clip();
      paint(ctx, u, value => u.valToPos(value, 'x', true), value => u.valToPos(value, 'y', true));
      ctx.restore();
    }}};
  }

  // Vertical lines at values of x with a name at the top; a name that would touch another one
  // stands lower.
  function markers(list) {
    return drawing('draw', (ctx, u, x) => {
      const ratio = devicePixelRatio, right = u.bbox.left + u.bbox.width;
      ctx.font = 11 * ratio + 'px ' + getComputedStyle(document.body).fontFamily;
      ctx.textBaseline = 'top';
      ctx.textAlign = 'left';
      const taken = [];
      for (const mark of list) {
        const at = Math.round(x(mark.at)) + .5;
        const width = ctx.measureText(mark.name).width + 8 * ratio;
        const begin = at + width > right ? at - width : at;
        let level = 0;
        while (taken.some(name => name.level === level && begin < name.end && name.begin < begin + width)) {
          ++level;
        }
        taken.push({begin, end: begin + width, level});
        const top = u.bbox.top + level * 14 * ratio;
        ctx.strokeStyle = colors.second;
        ctx.lineWidth = ratio;
        ctx.setLineDash([4 * ratio, 3 * ratio]);
        ctx.beginPath();
        ctx.moveTo(at, top);
        ctx.lineTo(at, u.bbox.top + u.bbox.height);
        ctx.stroke();
        ctx.fillStyle = colors.ink;
        ctx.fillText(mark.name, begin + 4 * ratio, top + ratio);
      }
    });
  }

  // Bars between `edges` of heights `heights`.
  function bars(edges, heights) {
    return drawing('draw', (ctx, u, x, y) => {
      const base = y(0);
      const gap = edges.length < 80 ? devicePixelRatio : 0;
      ctx.fillStyle = colors.accent;
      heights.forEach((height, i) => {
        if (!height) return;
        const left = x(edges[i]), right = x(edges[i + 1]);
        const top = Math.min(y(height), base - devicePixelRatio);
        ctx.fillRect(left, top, Math.max(right - left - gap, devicePixelRatio), base - top);
      });
    });
  }

  // Interval whiskers of a series over its points.
  function whiskers(intervals, shift, color) {
    return drawing('draw', (ctx, u, x, y) => {
      const cap = 5 * devicePixelRatio;
      ctx.strokeStyle = colors[color];
      ctx.lineWidth = 1.5 * devicePixelRatio;
      intervals.forEach((interval, i) => {
        if (!interval || !isNumber(interval[0]) || !isNumber(interval[1])) return;
        const at = x(i + shift), low = y(interval[0]), high = y(interval[1]);
        ctx.beginPath();
        ctx.moveTo(at, low);
        ctx.lineTo(at, high);
        for (const end of [low, high]) {
          ctx.moveTo(at - cap, end);
          ctx.lineTo(at + cap, end);
        }
        ctx.stroke();
      });
    });
  }

  // The names of the series, above the plot.
  function key(entries) {
    const box = document.createElement('div');
    box.className = 'key';
    for (const entry of entries) {
      const item = document.createElement('span');
      const mark = document.createElement('i');
      mark.dataset.color = entry.color;
      item.append(mark, entry.name);
      box.append(item);
    }
    return box;
  }

  const base = () => ({
    legend: {show: false}, padding: [10, 12, 0, 0],
    cursor: {y: false, points: {show: false}, drag: {x: false, y: false}},
  });

  // Rows side by side, whatever their batch sizes are. `shown`: every value that has to fit.
  function byBatch(rows, label, yTicks, series, whisker, shown, logarithmic, lines) {
    const least = Math.min(...shown), most = Math.max(...shown);
    const names = rows.map(row => digits(row.batch, 4));
    return Object.assign(base(), {
      scales: {
        x: {time: false, range: [-.5, rows.length - .5]},
        y: logarithmic ? {distr: 3, range: () => uPlot.rangeLog(least, most, 10, true)}
                       : {range: [0, most > 0 ? most * 1.12 : 1]},
      },
      axes: [
        xAxis('Batch size', (u, ticks) => ticks.map(tick => names[tick] ?? ''), {
          splits: () => rows.map((row, i) => i)}),
        yAxis(label, yTicks, logarithmic ? {grid: {stroke: () => colors.line, width: 1, filter: powers}} : {}),
      ],
      series: [{}].concat(series),
      plugins: [tooltip(i => lines(rows[i]))].concat(whisker),
    });
  }

  const line = (color, more) => Object.assign({
    stroke: () => colors[color], width: 1.5,
    points: {show: true, size: 8, fill: () => colors[color], stroke: () => colors[color]},
  }, more);

  const kinds = {
    rates: () => {
      const rows = data.performance;
      const values = rows.map(row => row.qps);
      return {
        options: byBatch(rows, 'Samples per second', plainTicks, [line('accent')],
            [whiskers(rows.map(row => row.qps_interval), 0, 'accent')],
            values.concat(...rows.map(row => row.qps_interval || [])).filter(isNumber), false,
            row => isNumber(row.qps) ? ['batch ' + row.batch, digits(row.qps, 5) + ' /s'] : []),
        values: [rows.map((row, i) => i), values],
      };
    },

    latencies: () => {
      const rows = data.performance;
      const all = rows.flatMap(row => [row.p50, row.p99]).filter(isNumber);
      const least = Math.min(...all), most = Math.max(...all);
      const logarithmic = most > 12 * least;
      const unit = timeUnit(most);
      const scaled = list => list.map(value => isNumber(value) ? value / unit.size : null);
      const intervals = name => rows.map(
          row => row[name + '_interval'] && row[name + '_interval'].map(v => v / unit.size));
      return {
        key: [{name: 'P50', color: 'accent'}, {name: 'P99', color: 'second'}],
        options: byBatch(rows, unit.name + (logarithmic ? ', logarithmic' : ''), plainTicks,
            [line('accent'), line('second')],
            [whiskers(intervals('p50'), 0, 'accent'), whiskers(intervals('p99'), 0, 'second')],
            all.concat(...rows.map(row => (row.p50_interval || []).concat(row.p99_interval || [])))
                .filter(isNumber).map(value => value / unit.size),
            logarithmic,
            row => isNumber(row.p50) ? ['batch ' + row.batch, 'P50 ' + time(row.p50)].concat(
                isNumber(row.p99) ? ['P99 ' + time(row.p99)] : []) : []),
        values: [rows.map((row, i) => i), scaled(rows.map(row => row.p50)),
                 scaled(rows.map(row => row.p99))],
      };
    },

    time: index => {
      const row = data.performance[index], course = row.time;
      const unit = timeUnit(Math.max(...course.mean_ns.filter(isNumber)));
      // Rounds follow one another: each begins where the one before ended.
      const at = [], starts = [];
      let offset = 0, step = 0;
      course.at_ns.forEach((ns, i) => {
        if (i && course.round[i] !== course.round[i - 1]) {
          offset = at[i - 1] * 1e9 + step;
          starts.push({at: offset / 1e9, name: 'round ' + (course.round[i] + 1)});
        } else if (i) {
          step = ns - course.at_ns[i - 1];
        }
        at.push((offset + ns) / 1e9);
      });
      const scaled = list => list.map(value => isNumber(value) ? value / unit.size : null);
      return {
        key: [{name: 'mean of a slice', color: 'accent'}, {name: 'largest', color: 'second'}],
        options: Object.assign(base(), {
          scales: {x: {time: false}, y: {range: (u, min, max) => [0, max > 0 ? max * 1.15 : 1]}},
          axes: [xAxis('Seconds of measured time', plainTicks), yAxis('Latency, ' + unit.name, plainTicks)],
          series: [{}, {stroke: () => colors.accent, width: 1.8, points: {show: false}},
                   {stroke: () => colors.second, width: .9, points: {show: false}}],
          plugins: [markers(starts), tooltip(i => [
            digits(at[i], 3) + ' s', 'mean ' + time(course.mean_ns[i]),
            'largest ' + time(course.max_ns[i])])],
        }),
        values: [at, scaled(course.mean_ns), scaled(course.max_ns)],
      };
    },

    histogram: index => {
      const row = data.performance[index], edges = row.histogram.edges;
      const counts = row.histogram.counts;
      const total = counts.reduce((sum, count) => sum + count, 0);
      const low = edges[0], last = edges[edges.length - 1];
      const typical = row.p99 || row.p95 || row.p50;
      // A long tail is shown whole on a logarithmic axis. Otherwise the few calls far to the right
      // are left out, and counted below the chart.
      const logarithmic = low > 0 && isNumber(row.p50) && typical > 4 * row.p50;
      const high = logarithmic || !isNumber(row.p50) ? last
          : Math.min(last, Math.max(row.p50 * 1.5, typical * 1.6));
      const unit = timeUnit(isNumber(row.p50) ? row.p50 : high);
      const x = edges.map(edge => edge / unit.size);
      // Bins differ in width: a height is calls per width as drawn, so that areas are shares.
      const width = i => logarithmic ? Math.log10(x[i + 1] / x[i]) : x[i + 1] - x[i];
      const heights = counts.map((count, i) => count / Math.max(width(i), 1e-12) / total);
      const beyond = counts.reduce((sum, count, i) => sum + (edges[i] >= high ? count : 0), 0);
      const marks = [['P50', row.p50], ['P95', row.p95], ['P99', row.p99], ['P99.9', row.p999]]
          .filter(mark => isNumber(mark[1]) && mark[1] <= high)
          .map(mark => ({name: mark[0], at: mark[1] / unit.size}));
      const pad = (high - low) * .03 / unit.size;
      const range = logarithmic ? [x[0] / 1.1, high * 1.1 / unit.size]
                                : [low / unit.size - pad, high / unit.size + pad];
      return {
        note: !beyond ? '' : beyond === 1 ? 'One slower call lies beyond the right edge.'
            : digits(beyond, 9) + ' slower calls lie beyond the right edge.',
        options: Object.assign(base(), {
          scales: {x: Object.assign({time: false, range}, logarithmic ? {distr: 3} : {}),
                   y: {range: [0, Math.max(...heights) * 1.2]}},
          axes: [xAxis('Latency, ' + unit.name + (logarithmic ? ', logarithmic' : ''), plainTicks,
                       logarithmic ? {splits: () => logTicks(...range), filter: (u, ticks) => ticks} : {}),
                 yAxis('Calls per width', (u, ticks) => ticks.map(() => ''), {size: 12})],
          series: [{}, {paths: () => null, points: {show: false}}],
          plugins: [bars(x, heights), markers(marks), tooltip(i => counts[i] ? [
            time(edges[i]) + ' to ' + time(edges[i + 1]),
            digits(counts[i], 9) + ' calls, ' + digits(100 * counts[i] / total, 2) + ' %'] : [])],
        }),
        values: [heights.map((height, i) => (x[i] + x[i + 1]) / 2), heights],
      };
    },

    magnitude: index => {
      const output = data.numeric[index], found = output.magnitude;
      const total = found.counts.reduce((sum, count) => sum + count, 0) + found.zeros;
      const shares = found.counts.map(count => 100 * count / total);
      const edges = shares.map((share, i) => found.low_exponent + i);
      edges.push(found.low_exponent + shares.length);
      const power = exponent => digits(Math.pow(2, exponent), 2);
      const marks = [['mean', output.mean_abs], ['largest', output.max_abs]]
          .filter(mark => isNumber(mark[1]) && mark[1] > 0)
          .map(mark => ({name: mark[0], at: Math.log2(mark[1])}));
      return {
        options: Object.assign(base(), {
          scales: {x: {time: false, range: [edges[0] - .5, edges[edges.length - 1] + 1.5]},
                   y: {range: [0, Math.max(...shares) * 1.2]}},
          axes: [xAxis('|got \u2212 reference|, logarithmic',
                       (u, ticks) => ticks.map(tick => Number.isInteger(tick) ? power(tick) : ''),
                       {space: 70}),
                 yAxis('% of values', plainTicks, {size: 44})],
          series: [{}, {paths: () => null, points: {show: false}}],
          plugins: [bars(edges, shares), markers(marks), tooltip(i => shares[i] ? [
            power(edges[i]) + ' to ' + power(edges[i + 1]), digits(shares[i], 3) + ' % of values'] : [])],
        }),
        values: [edges.slice(0, -1).map(edge => edge + .5), shares],
      };
    },

    signed: index => {
      const found = data.numeric[index].signed;
      const total = found.counts.reduce((sum, count) => sum + count, 0);
      const shares = found.counts.map(count => 100 * count / Math.max(total, 1));
      const step = found.step || 1;
      const edges = shares.map((share, i) => found.low + i * step);
      edges.push(found.low + shares.length * step);
      return {
        options: Object.assign(base(), {
          scales: {x: {time: false, range: [edges[0], edges[edges.length - 1]]},
                   y: {range: [0, Math.max(...shares) * 1.2]}},
          axes: [xAxis('got \u2212 reference', plainTicks), yAxis('% of values', plainTicks, {size: 44})],
          series: [{}, {paths: () => null, points: {show: false}}],
          plugins: [bars(edges, shares), markers([{name: '0', at: 0}]), tooltip(i => shares[i] ? [
            digits(edges[i], 3) + ' to ' + digits(edges[i + 1], 3),
            digits(shares[i], 3) + ' % of values'] : [])],
        }),
        values: [edges.slice(0, -1).map(edge => edge + step / 2), shares],
      };
    },
  };

  function sizeOf(place) {
    return {width: Math.max(place.clientWidth, 120), height: place.clientHeight || 262};
  }

  function paintKeys() {
    for (const mark of document.querySelectorAll('.key i')) {
      mark.style.borderColor = colors[mark.dataset.color];
    }
  }

  function draw(place) {
    const made = kinds[place.dataset.chart](Number(place.dataset.index));
    place.before(key(made.key || []));
    if (made.note) place.parentNode.querySelector('.describe').append('. ' + made.note);
    place.classList.add('drawn');
    charts.push({place, plot: new uPlot(Object.assign(made.options, sizeOf(place)), made.values, place)});
  }

  // On paper the style sheet shrinks what is drawn to its column: drawn larger, it prints sharper.
  const paperSize = {width: 430, height: 266};

  function redraw(paper) {
    colors = palette(paper);
    paintKeys();
    for (const chart of charts) {
      chart.plot.setSize(paper ? paperSize : sizeOf(chart.place));
      chart.plot.redraw(false, true);
    }
  }

  for (const place of document.querySelectorAll('[data-chart]')) draw(place);
  paintKeys();

  let onPaper = false;
  const observer = new ResizeObserver(entries => {
    if (onPaper) return;
    for (const entry of entries) {
      const chart = charts.find(candidate => candidate.place === entry.target);
      const size = sizeOf(entry.target);
      if (chart && (size.width !== chart.plot.width || size.height !== chart.plot.height)) {
        chart.plot.setSize(size);
      }
    }
  });
  for (const chart of charts) observer.observe(chart.place);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => redraw(false));

  addEventListener('beforeprint', () => {
    for (const folded of document.querySelectorAll('details')) folded.open = true;
    onPaper = true;
    redraw(true);
  });
  addEventListener('afterprint', () => {
    onPaper = false;
    redraw(false);
  });
})();
