// A page that is opened from a file may not start a Worker, and the search of the theme is one. Here the script of the
// worker runs in a hidden frame instead, with the same two ways to talk: postMessage and the event "message".
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.frame.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.frame.ready = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      };
      const page = this.frame.contentDocument;
      page.open();
      page.write(
        "<script>self.postMessage = (data) => frameElement.answer(data)<\/script>" +
          `<script src="${new URL(address, location.href)}" onload="frameElement.ready()"><\/script>`
      );
      page.close();
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
