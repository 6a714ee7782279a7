import { useEffect, useRef, useState } from 'preact/hooks';

// The width of an element, less `margin`, as it changes: drawings are made for it.
export function useWidth(first: number, least: number, margin = 0): [preact.RefObject<HTMLDivElement>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(first);
  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(Math.max(least, (box.current?.clientWidth ?? first) - margin)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return [box, width];
}
