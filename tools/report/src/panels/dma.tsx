import { bytes, count, percent, time } from '../format';
import { unknown, type Model } from '../model';

// What moved: by size of the descriptors, by queue, by tensor.
export function Dma({ model }: { model: Model }) {
  const { dma, tensors, total_us } = model.profile;
  if (dma.transfer_count === 0) return <p class="quiet">This run has no transfers.</p>;
  return (
    <>
      <p>
        {count(dma.transfer_count)} transfers move {bytes(dma.bytes)} in {count(dma.descriptor_count)} descriptors; any DMA engine is active for {time(dma.active_us)},{' '}
        {percent(dma.active_us / total_us)} of the total.
      </p>
      <div class="columns">
        <div>
          <h3>By size of the descriptors</h3>
          <table class="list">
            <thead>
              <tr>
                <th scope="col">bytes each</th>
                <th scope="col" class="number">transfers</th>
                <th scope="col" class="number optional">descriptors</th>
                <th scope="col" class="number">moved</th>
                <th scope="col" class="number" title="bytes over packet time, of a DMA engine's peak">efficiency</th>
              </tr>
            </thead>
            <tbody>
              {dma.by_descriptor_size.map((s) => (
                <tr key={s.descriptor_bytes_from}>
                  <td class="name">
                    {count(s.descriptor_bytes_from)} to {count(s.descriptor_bytes_to)}
                  </td>
                  <td class="number">{count(s.transfer_count)}</td>
                  <td class="number optional">{count(s.descriptor_count)}</td>
                  <td class="number">{bytes(s.bytes)}</td>
                  <td class="number">{percent(s.efficiency_percent / 100)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          <h3 class="next">By queue</h3>
          <table class="list">
            <thead>
              <tr>
                <th scope="col">queue</th>
                <th scope="col" class="number">transfers</th>
                <th scope="col" class="number">moved</th>
                <th scope="col" class="number">active</th>
                <th scope="col" class="number">of the total</th>
              </tr>
            </thead>
            <tbody>
              {dma.queues.map((q) => (
                <tr key={q.queue}>
                  <td>{q.queue}</td>
                  <td class="number">{count(q.transfer_count)}</td>
                  <td class="number">{bytes(q.bytes)}</td>
                  <td class="number">{time(q.active_us)}</td>
                  <td class="number">{percent(q.active_us / total_us)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <div>
          <h3>By tensor</h3>
          <table class="list">
            <thead>
              <tr>
                <th scope="col">tensor</th>
                <th scope="col" class="number">size</th>
                <th scope="col" class="number">read</th>
                <th scope="col" class="number" title="bytes read over distinct bytes read">times</th>
                <th scope="col" class="number">written</th>
              </tr>
            </thead>
            <tbody>
              {tensors.map((t) => (
                <tr key={t.name}>
                  <td>
                    <code>{t.name}</code>
                  </td>
                  <td class="number">{bytes(t.size_bytes)}</td>
                  <td class="number">{bytes(t.read_bytes)}</td>
                  <td class="number">{t.times_read === null ? unknown : t.times_read.toFixed(2)}</td>
                  <td class="number">{bytes(t.written_bytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </div>
    </>
  );
}
