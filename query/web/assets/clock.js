// The zone of the reader's clock: the browser's, or UTC if the address says tz=UTC.

const zones = { utc: false };

/** Chooses UTC, or the browser's zone. */
export function useUTC(on) { zones.utc = on; }

/** True if times are in UTC though the browser's zone is another one. */
export function isUTC() { return zones.utc; }

/** The name of the zone: "UTC", "Europe/Berlin". */
export function zone() {
  return zones.utc ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone || 'local time';
}

/** The short name of the zone at a time: "CET", "GMT+5:45". @param {number} seconds */
export function zoneAt(seconds) {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone: zones.utc ? 'UTC' : undefined, timeZoneName: 'short' }).formatToParts(seconds * 1000);
  return parts.find((p) => p.type === 'timeZoneName')?.value || '';
}

/** What the reader's clock shows, as the UTC parts of a Date. @param {number} seconds since 1970 */
export function wall(seconds) {
  const d = new Date(seconds * 1000);
  return zones.utc ? d : new Date(d.getTime() - d.getTimezoneOffset() * 60000);
}

/** The seconds since 1970 at which the reader's clock shows a time. Parts may be out of range, as with Date. */
export function secondsOf(year, month, day = 1, hour = 0, minute = 0, second = 0) {
  return (zones.utc ? Date.UTC(year, month, day, hour, minute, second) : new Date(year, month, day, hour, minute, second).getTime()) / 1000;
}
