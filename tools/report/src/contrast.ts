// Relative luminance and contrast as WCAG 2.1 defines them, for colours written #rrggbb.

function luminance(color: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

// Which of two colours reads better on this one.
export function readable(on: string, a: string, b: string): string {
  return contrast(on, a) >= contrast(on, b) ? a : b;
}
