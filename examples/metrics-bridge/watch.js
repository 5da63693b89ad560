// Follows a run from Node: npm install sockjs-client @vertx/eventbus-bridge-client.js, then
// node watch.js http://127.0.0.1:8350/

const EventBus = require('@vertx/eventbus-bridge-client.js');

const page = process.argv[2] ?? 'http://127.0.0.1:8350/';

async function follow() {
  const { job } = await (await fetch(new URL('job', page))).json();
  const bus = new EventBus(new URL('eventbus', page).href);
  bus.onopen = () => {
    bus.send(`metrics-requests.${job}`, { request: 'snapshot' }, (error, answer) =>
      console.log(error ?? `${job}: ${answer.body.members.length} members, delta ${answer.body.number}`),
    );
    bus.registerHandler(`metrics.${job}`, (error, message) => {
      const { number, state } = message.body;
      console.log(number, state.phase, state.version ?? 0, Math.round(state.samplesPerSecond ?? 0));
    });
  };
  bus.onclose = () => process.exit(0);
}

follow();
