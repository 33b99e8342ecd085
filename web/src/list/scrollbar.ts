/**
 * Maps places in a list (pixels from its top, without a limit) to positions of a scroll bar. Browsers cut elements off beyond some
 * height (Firefox at about 17.9 million pixels), so a higher list gets a scroll bar of a fixed height. Near both ends a pixel of the
 * bar is a pixel of the list, so that the ends can be reached exactly.
 */
export const MAX_HEIGHT = 15_000_000;

/** How many screens at both ends are mapped pixel by pixel. */
const EXACT_SCREENS = 8;

/** The height of the scrolled element for a list of this height. */
export function barHeight(total: number): number {
  return Math.min(total, MAX_HEIGHT);
}

/** The scroll position that shows the place at the top of the screen. */
export function toBar(place: number, total: number, screen: number): number {
  if (total <= MAX_HEIGHT) return place;
  const [edge, barMiddle, listMiddle] = middle(total, screen);
  const end = total - screen - place;
  if (place <= edge) return place;
  if (end <= edge) return MAX_HEIGHT - screen - end;
  return edge + ((place - edge) / listMiddle) * barMiddle;
}

/** The place at the top of the screen for a scroll position: the inverse of `toBar`. */
export function fromBar(position: number, total: number, screen: number): number {
  if (total <= MAX_HEIGHT) return position;
  const [edge, barMiddle, listMiddle] = middle(total, screen);
  const end = MAX_HEIGHT - screen - position;
  if (position <= edge) return position;
  if (end <= edge) return total - screen - end;
  return edge + ((position - edge) / barMiddle) * listMiddle;
}

/** The height of an exact end, and of the part between the ends: on the bar, and in the list. */
function middle(total: number, screen: number): [edge: number, bar: number, list: number] {
  const edge = EXACT_SCREENS * screen;
  return [edge, MAX_HEIGHT - screen - 2 * edge, total - screen - 2 * edge];
}
