// Numbers, dates and the order of texts as in American English, which is the only language here. The time zone is UTC.
(() => {
  "use strict";

  /** Refuses other languages: silence would be a wrong text. */
  const english = (locales, what, also = []) => {
    const asked = locales === undefined ? [] : [locales].flat().map(String);
    const known = asked.length === 0 ? "en-US" : asked.find((locale) => /^en(-US)?(-u-.*)?$/i.test(locale) || also.includes(locale));
    if (known === undefined) throw new RangeError(`${what} knows only the locale en-US here, and was given ${asked.join(", ")}: build such a text from its parts`);
    return known;
  };
  const unknown = (what, name, value, known) => {
    throw new RangeError(`${what} does not know ${name}: ${JSON.stringify(value)} here${known ? `, but ${known}` : ""}`);
  };

  // Numbers

  /** Returns the digits of a number that is not negative: those before its point, and those behind it. */
  const digitsOf = (value) => {
    const [mantissa, exponent = "0"] = String(value).split("e");
    const [whole, fraction = ""] = mantissa.split(".");
    return shifted([whole, fraction], Number(exponent));
  };
  const shifted = ([whole, fraction], by) => {
    const all = by < 0 ? whole.padStart(whole.length - by, "0") + fraction : whole + fraction.padEnd(by, "0");
    const point = by < 0 ? whole.length : whole.length + by;
    const at = by < 0 ? all.length - fraction.length + by : point;
    return [all.slice(0, at).replace(/^0+(?=.)/, "") || "0", all.slice(at)];
  };
  /** Rounds to so many digits behind the point, or before it where there are less than none. Halves go away from 0. */
  const rounded = ([whole, fraction], places) => {
    if (fraction.length <= places) return [whole, fraction];
    const all = whole + fraction;
    const kept = whole.length + places;
    if (kept < 0) return ["0", ""];
    let digits = BigInt(all.slice(0, kept) || "0");
    if (all[kept] >= "5") digits += 1n;
    const text = String(digits) + "0".repeat(Math.max(0, -places));
    const padded = text.padStart(Math.max(0, places) + 1, "0");
    return places > 0 ? [padded.slice(0, -places), padded.slice(-places)] : [padded, ""];
  };
  /** Returns how many digits a number has before its point, or how many zeros behind it come first, as a negative number. */
  const magnitude = ([whole, fraction]) => (whole !== "0" || !/[1-9]/.test(fraction) ? whole.length : -fraction.match(/^0*/)[0].length);
  const grouped = (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ",");

  const symbols = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩", BRL: "R$", CAD: "CA$", AUD: "A$", MXN: "MX$", NZD: "NZ$", ILS: "₪", VND: "₫", TWD: "NT$", HKD: "HK$" };
  const wholeCurrencies = ["JPY", "KRW", "VND", "CLP", "ISK"];
  const scales = { short: ["", "K", "M", "B", "T"], long: ["", " thousand", " million", " billion", " trillion"] };

  const number = (value, locales, options = {}) => {
    const what = "toLocaleString of a number";
    english(locales, what);
    const { style = "decimal", notation = "standard", useGrouping = true, signDisplay = "auto" } = options;
    if (!["decimal", "percent", "currency"].includes(style)) unknown(what, "style", style, "decimal, percent and currency");
    if (!["standard", "compact"].includes(notation)) unknown(what, "notation", notation, "standard and compact");
    const isMoney = style === "currency";
    if (isMoney && options.currency === undefined) throw new TypeError("Currency code is required with currency style.");
    const currency = isMoney ? String(options.currency).toUpperCase() : "";
    const usual = isMoney ? (wholeCurrencies.includes(currency) ? [0, 0] : [2, 2]) : style === "percent" ? [0, 0] : [0, 3];
    let { minimumFractionDigits: least, maximumFractionDigits: most } = options;
    for (const [name, digits] of [["minimumFractionDigits", least], ["maximumFractionDigits", most]])
      if (digits !== undefined && !(digits >= 0 && digits <= 100)) throw new RangeError(`${name} value is out of range.`);
    if (least !== undefined && most !== undefined && least > most) throw new RangeError("maximumFractionDigits value is out of range.");
    const isUsual = least === undefined && most === undefined;
    least ??= Math.min(usual[0], most ?? usual[0]);
    most ??= Math.max(usual[1], least);

    const isNegative = value < 0 || Object.is(value, -0);
    let text;
    if (typeof value === "number" && !Number.isFinite(value)) {
      text = Number.isNaN(value) ? "NaN" : "∞";
    } else {
      let digits = digitsOf(value < 0 ? -value : typeof value === "bigint" ? value : Math.abs(value));
      if (style === "percent") digits = shifted(digits, 2);
      const round = (digits) => {
        const { minimumSignificantDigits: fewest = 1, maximumSignificantDigits: highest } = options;
        if (highest !== undefined || options.minimumSignificantDigits !== undefined) {
          const [whole, fraction] = rounded(digits, (highest ?? 21) - magnitude(digits));
          const shown = fraction.replace(/0+$/, "");
          return [whole, shown.padEnd(Math.max(0, fewest - magnitude([whole, fraction])), "0")];
        }
        if (notation === "compact" && isUsual) {
          const [whole, fraction] = rounded(digits, Math.max(0, 2 - magnitude(digits)));
          return [whole, fraction.replace(/0+$/, "")];
        }
        const [whole, fraction] = rounded(digits, most);
        return [whole, fraction.replace(/0+$/, "").padEnd(least, "0")];
      };
      let scale = 0;
      let parts = round(digits);
      while (notation === "compact" && parts[0].length > 3 && scale < 4) {
        scale += 1;
        digits = shifted(digits, -3);
        parts = round(digits);
      }
      const [whole, fraction] = parts;
      const least3 = whole.padStart(options.minimumIntegerDigits ?? 1, "0");
      const isGrouped = useGrouping !== false && useGrouping !== "false" && !(notation === "compact" && whole.length < 5);
      text = (isGrouped ? grouped(least3) : least3) + (fraction === "" ? "" : `.${fraction}`);
      if (notation === "compact") text += scales[options.compactDisplay ?? "short"][scale];
    }
    if (style === "percent") text += "%";
    if (isMoney) {
      const symbol = options.currencyDisplay === "code" ? currency : options.currencyDisplay === "narrowSymbol" ? (symbols[currency] ?? currency).replace(/^[A-Z]+(?=\W)/, "") : (symbols[currency] ?? currency);
      if (options.currencyDisplay === "name") unknown(what, "currencyDisplay", "name", "symbol and code");
      text = /[A-Z]$/.test(symbol) ? `${symbol}\u00a0${text}` : symbol + text;
    }
    const isZero = !/[1-9∞]/.test(text);
    const sign = { never: "", always: isNegative ? "-" : "+", exceptZero: isZero ? "" : isNegative ? "-" : "+", negative: isNegative && !isZero ? "-" : "" }[signDisplay] ?? (isNegative ? "-" : "");
    return text === "NaN" ? text : sign + text;
  };

  // Dates

  const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
  const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
  const two = (value) => String(value).padStart(2, "0");
  const styles = {
    full: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
    long: { year: "numeric", month: "long", day: "numeric" },
    medium: { year: "numeric", month: "short", day: "numeric" },
    short: { year: "2-digit", month: "numeric", day: "numeric" },
  };
  const clocks = {
    full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" },
    long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
    medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
    short: { hour: "numeric", minute: "2-digit" },
  };
  const dateParts = ["weekday", "year", "month", "day"];
  const timeParts = ["hour", "minute", "second", "fractionalSecondDigits", "dayPeriod"];

  /** Returns a date as text: with these parts, or with the usual ones of a date, of a time, or of both. */
  const date = (value, locales, options = {}, usual = "any", what = "toLocaleString of a date") => {
    const locale = english(locales, what, ["en-CA", "sv-SE"]);
    const zone = options.timeZone ?? "UTC";
    if (!/^(UTC|GMT|Etc\/(UTC|GMT)|Z|\+00:00)$/i.test(zone)) throw new RangeError(`the time zone here is UTC, and ${zone} is not known: add its offset yourself, or call tools.execute({ command: "TZ=${zone} date …" })`);
    if (Number.isNaN(value.getTime())) return "Invalid Date";
    const foreign = { date: "timeStyle", time: "dateStyle" }[usual];
    if (options[foreign] !== undefined) throw new TypeError(`Invalid option : ${foreign}`);
    let asked = { ...options };
    if (options.dateStyle || options.timeStyle) Object.assign(asked, styles[options.dateStyle], clocks[options.timeStyle]);
    else if ((usual !== "time" && dateParts.some((part) => options[part])) || (usual !== "date" && timeParts.some((part) => options[part]))) {
      // It names its parts.
    } else {
      if (usual !== "time") asked = { ...asked, ...styles.short, year: "numeric" };
      if (usual !== "date") asked = { ...asked, ...clocks.medium };
    }
    if (locale !== "en-US" && locale !== "en" && !/^en-US/i.test(locale)) {
      const isPlain = usual === "date" && Object.keys(options).every((name) => name === "timeZone");
      if (!isPlain) english(locales, what);
      return value.toISOString().slice(0, 10);
    }
    const [year, month, day] = [value.getUTCFullYear(), value.getUTCMonth(), value.getUTCDate()];
    const weekday = asked.weekday && weekdays[value.getUTCDay()].slice(0, { long: 9, short: 3, narrow: 1 }[asked.weekday]);
    const yearText = asked.year && (asked.year === "2-digit" ? two(Math.abs(year) % 100) : String(year));
    const dayText = asked.day && (asked.day === "2-digit" ? two(day) : String(day));
    let dateText = "";
    if (asked.month === "long" || asked.month === "short" || asked.month === "narrow") {
      const name = months[month].slice(0, { long: 9, short: 3, narrow: 1 }[asked.month]);
      const monthDay = dayText ? `${name} ${dayText}` : name;
      dateText = [weekday, monthDay].filter(Boolean).join(", ");
      if (yearText) dateText += dayText ? `, ${yearText}` : ` ${yearText}`;
    } else {
      const monthText = asked.month && (asked.month === "2-digit" ? two(month + 1) : String(month + 1));
      const numbers = [monthText, dayText, yearText].filter(Boolean).join("/");
      dateText = weekday && dayText && !monthText && !yearText ? `${dayText} ${weekday}` : [weekday, numbers].filter(Boolean).join(", ");
    }
    const timeText = clock(value, asked);
    const isLong = asked.month === "long" && (!options.dateStyle || options.dateStyle === "full" || options.dateStyle === "long");
    return [dateText, timeText].filter(Boolean).join(isLong ? " at " : ", ");
  };
  const clock = (value, asked) => {
    const cycle = asked.hour12 === undefined ? (asked.hourCycle ?? "h12") : asked.hour12 ? "h12" : "h24";
    const hours = value.getUTCHours();
    const shown = { h11: hours % 12, h12: hours % 12 || 12, h23: hours, h24: hours || 24 }[cycle];
    const isHalf = cycle === "h11" || cycle === "h12";
    let seconds = asked.second && (asked.minute || asked.second === "2-digit" ? two(value.getUTCSeconds()) : String(value.getUTCSeconds()));
    if (asked.fractionalSecondDigits) seconds = `${seconds ?? ""}${seconds ? "." : ""}${String(value.getUTCMilliseconds()).padStart(3, "0").slice(0, asked.fractionalSecondDigits)}`;
    const text = [
      asked.hour && (asked.hour === "2-digit" || !isHalf ? two(shown) : String(shown)),
      asked.minute && (asked.hour || asked.second ? two(value.getUTCMinutes()) : String(value.getUTCMinutes())),
      seconds,
    ];
    const time = text.filter(Boolean).join(":");
    const period = asked.hour && isHalf ? (hours < 12 ? "AM" : "PM") : undefined;
    const zone = asked.timeZoneName && (asked.timeZoneName === "long" ? "Coordinated Universal Time" : "UTC");
    return [time, period, zone].filter(Boolean).join(" ");
  };

  // The order of texts

  const order = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz";
  const weights = new Uint16Array(128);
  for (let code = 0; code < 128; code += 1) weights[code] = order.indexOf(String.fromCharCode(code).toLowerCase()) + 1;
  const weight = (character) => {
    const code = character.codePointAt(0);
    return code < 128 ? weights[code] : 1000 + character.toLowerCase().codePointAt(0);
  };
  const letters = { ß: "ss", æ: "ae", Æ: "AE", œ: "oe", Œ: "OE", ø: "o\u0338", Ø: "O\u0338", ł: "l\u0335", Ł: "L\u0335", đ: "d\u0335", Đ: "D\u0335" };
  const split = (text) => {
    const bases = [];
    const marks = [];
    for (const character of text.normalize("NFD").replace(/[ßæÆœŒøØłŁđĐ]/g, (letter) => letters[letter])) {
      if (/\p{M}/u.test(character) && bases.length > 0) marks[bases.length - 1] += character;
      else {
        bases.push(character);
        marks.push("");
      }
    }
    return { bases, marks };
  };
  const compare = (a, b, locales, options = {}) => {
    english(locales, "localeCompare");
    const { numeric = /-u-.*kn/i.test(String(locales ?? "")), sensitivity = "variant", ignorePunctuation = false } = options;
    let [left, right] = [String(a), String(b)];
    if (left === right) return 0;
    if (ignorePunctuation) [left, right] = [left, right].map((text) => text.replace(/[\p{P}\s]/gu, ""));
    const isPlain = /^[\x20-\x7e]*$/;
    const [one, other] = isPlain.test(left) && isPlain.test(right) ? [{ bases: left }, { bases: right }] : [split(left), split(right)];
    let accent = 0;
    let letterCase = 0;
    let [i, j] = [0, 0];
    const number = (bases, from) => {
      let to = from;
      while (to < bases.length && bases[to] >= "0" && bases[to] <= "9") to += 1;
      let start = from;
      while (start < to - 1 && bases[start] === "0") start += 1;
      return [to, to - start, start];
    };
    for (; i < one.bases.length && j < other.bases.length; i += 1, j += 1) {
      const [x, y] = [one.bases[i], other.bases[j]];
      if (numeric && x >= "0" && x <= "9" && y >= "0" && y <= "9") {
        const [endX, lengthX, startX] = number(one.bases, i);
        const [endY, lengthY, startY] = number(other.bases, j);
        if (lengthX !== lengthY) return lengthX < lengthY ? -1 : 1;
        for (let at = 0; at < lengthX; at += 1) {
          const [p, q] = [one.bases[startX + at], other.bases[startY + at]];
          if (p !== q) return p < q ? -1 : 1;
        }
        [i, j] = [endX - 1, endY - 1];
        continue;
      }
      if (x !== y) {
        const difference = weight(x) - weight(y);
        if (difference !== 0) return difference < 0 ? -1 : 1;
        // Small letters come first.
        letterCase ||= x.toLowerCase() === x ? -1 : 1;
      }
      const [markX, markY] = [one.marks?.[i] ?? "", other.marks?.[j] ?? ""];
      if (markX !== markY) accent ||= markX < markY ? -1 : 1;
    }
    if (i < one.bases.length || j < other.bases.length) return i < one.bases.length ? 1 : -1;
    if (accent !== 0 && (sensitivity === "variant" || sensitivity === "accent")) return accent;
    return sensitivity === "variant" || sensitivity === "case" ? letterCase : 0;
  };

  // What `Intl` has of that

  const missing = (name) => {
    throw new ReferenceError(`Intl.${name} is not available: Intl has NumberFormat, DateTimeFormat and Collator here`);
  };
  class NumberFormat {
    constructor(locales, options) {
      this.format = (value) => number(typeof value === "bigint" ? value : Number(value), locales, options);
      this.format(0);
    }
    resolvedOptions() {
      return { locale: "en-US", numberingSystem: "latn" };
    }
  }
  class DateTimeFormat {
    constructor(locales, options) {
      this.format = (value = Date.now()) => date(new Date(value), locales, options, options?.hour || options?.timeStyle ? "any" : "date", "Intl.DateTimeFormat");
      this.format(0);
    }
    resolvedOptions() {
      return { locale: "en-US", calendar: "gregory", numberingSystem: "latn", timeZone: "UTC" };
    }
  }
  class Collator {
    constructor(locales, options) {
      this.compare = (a, b) => compare(a, b, locales, options);
      this.compare("", "a");
    }
  }
  const Intl = new Proxy(
    { NumberFormat, DateTimeFormat, Collator },
    { get: (target, name) => (name in target || typeof name === "symbol" ? target[name] : missing(name)) },
  );

  const cased = (method) => (text, locales) => {
    english(locales, method);
    return String(text)[method]();
  };
  return {
    Intl,
    "Number.toLocaleString": (value, ...how) => number(Number(value), ...how),
    "BigInt.toLocaleString": (value, ...how) => number(BigInt(value), ...how),
    "Date.toLocaleString": (value, locales, options) => date(value, locales, options, "any"),
    "Date.toLocaleDateString": (value, locales, options) => date(value, locales, options, "date", "toLocaleDateString"),
    "Date.toLocaleTimeString": (value, locales, options) => date(value, locales, options, "time", "toLocaleTimeString"),
    "String.localeCompare": (text, ...how) => compare(text, ...how),
    "String.toLocaleUpperCase": cased("toUpperCase"),
    "String.toLocaleLowerCase": cased("toLowerCase"),
  };
})
