// Long work in slices, so that the page draws and handles input in between.

/** The milliseconds of a slice. */
const SLICE = 8;

/** Lets the browser do what waits. */
const breathe = () =>
  new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve(undefined);
    };
    channel.port2.postMessage(0);
  });

export class Pace {
  constructor() {
    this.since = performance.now();
  }

  /** Pauses if the slice is over. */
  async keep() {
    if (performance.now() - this.since < SLICE) return;
    await breathe();
    this.since = performance.now();
  }
}
