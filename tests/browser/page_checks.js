// Functions that the browser test evaluates in the report's page. Each returns a list of complaints.
window.pageChecks = {
  // Every chart has a canvas with enough drawn pixels in more than one colour.
  charts() {
    const complaints = [];
    for (const place of document.querySelectorAll('[data-chart]')) {
      const name = place.dataset.chart + ' ' + place.dataset.index;
      const canvas = place.querySelector('canvas');
      if (!canvas) { complaints.push(name + ': no canvas'); continue; }
      const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      let drawn = 0;
      const colors = new Set();
      for (let i = 0; i < pixels.length; i += 4) {
        if (pixels[i + 3] < 128) continue;
        ++drawn;
        colors.add((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
      }
      if (drawn < 400) complaints.push(name + ': only ' + drawn + ' pixels are drawn');
      if (colors.size < 3) complaints.push(name + ': only ' + colors.size + ' colours');
    }
    return complaints;
  },

  // Charts whose canvas holds pixels of exactly this colour, "r,g,b".
  chartsWithColor(color) {
    const [r, g, b] = color.split(',').map(Number);
    return [...document.querySelectorAll('[data-chart] canvas')].filter(canvas => {
      const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      for (let i = 0; i < pixels.length; i += 4) {
        if (pixels[i] === r && pixels[i + 1] === g && pixels[i + 2] === b && pixels[i + 3] > 250) return true;
      }
      return false;
    }).length;
  },

  // Nothing reaches beyond the right edge, but what scrolls inside its own box.
  overflow() {
    const complaints = [];
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) {
      complaints.push('the page is ' + document.documentElement.scrollWidth + ' wide in ' + width);
    }
    for (const item of document.querySelectorAll('body *')) {
      if (item.closest('.skip, .u-over, .plot, thead, caption')) continue;
      const box = item.getBoundingClientRect();
      if (box.width && box.right > width + 1) {
        complaints.push(item.tagName + '.' + item.className + ' ends at ' + box.right + ' of ' + width +
                        ': ' + item.textContent.slice(0, 60));
      }
    }
    return complaints.slice(0, 10);
  },

  // WCAG AA: text has 4.5 times the luminance of its ground, large text 3 times.
  contrast() {
    const complaints = [];
    const parse = text => {
      const srgb = text.match(/^color\(srgb ([^)]+)\)/);
      const parts = (srgb ? srgb[1] : text).match(/[\d.]+/g).map(Number);
      const color = srgb ? parts.slice(0, 3).map(v => v * 255).concat(parts.slice(3)) : parts;
      return color.length < 4 ? color.concat(1) : color;
    };
    const luminance = color => {
      const [r, g, b] = color.slice(0, 3).map(v => v / 255).map(
          v => v <= .03928 ? v / 12.92 : Math.pow((v + .055) / 1.055, 2.4));
      return .2126 * r + .7152 * g + .0722 * b;
    };
    const ground = item => {
      for (let at = item; at; at = at.parentElement) {
        const color = parse(getComputedStyle(at).backgroundColor);
        if (color[3] > .99) return color;
      }
      return [255, 255, 255, 1];
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const item = texts.currentNode.parentElement;
      if (!texts.currentNode.textContent.trim() || item.closest('script, style, .skip, .tip')) continue;
      const style = getComputedStyle(item);
      const pair = [luminance(parse(style.color)), luminance(ground(item))].sort((a, b) => b - a);
      const ratio = (pair[0] + .05) / (pair[1] + .05);
      const large = parseFloat(style.fontSize) >= 24 ||
                    (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 600);
      if (ratio < (large ? 3 : 4.5)) {
        complaints.push(ratio.toFixed(2) + ' for "' + texts.currentNode.textContent.trim().slice(0, 40) + '"');
      }
    }
    return [...new Set(complaints)].slice(0, 10);
  },

  // What a screen reader needs.
  structure() {
    const complaints = [];
    if (document.documentElement.lang !== 'en') complaints.push('no language');
    if (document.querySelectorAll('h1').length !== 1) complaints.push('not one h1');
    let level = 1;
    for (const heading of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
      const next = Number(heading.tagName[1]);
      if (next > level + 1) complaints.push('heading jumps to ' + heading.tagName + ' ' + heading.textContent);
      level = next;
    }
    for (const table of document.querySelectorAll('table')) {
      if (!table.caption || !table.caption.textContent.trim()) complaints.push('a table without caption');
      if (!table.querySelector('thead th[scope=col]')) complaints.push('no column headers: ' + table.caption.textContent);
      for (const row of table.tBodies[0].rows) {
        if (!row.querySelector('th[scope=row]')) complaints.push('no row header: ' + table.caption.textContent);
      }
    }
    for (const image of document.querySelectorAll('[role=img]')) {
      if (!(image.getAttribute('aria-label') || '').trim()) complaints.push('a chart without a name');
    }
    const ids = [...document.querySelectorAll('[id]')].map(item => item.id);
    if (new Set(ids).size !== ids.length) complaints.push('an id stands twice');
    for (const link of document.querySelectorAll('a[href^="#"]')) {
      if (!document.getElementById(link.getAttribute('href').slice(1))) complaints.push('dead link ' + link.href);
    }
    return complaints;
  },
};
