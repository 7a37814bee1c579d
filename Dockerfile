# The gateway in a container. It runs the sources as they are; the only build step installs the dependencies.
#
#   docker build -t task-gateway .
#   docker run -p 8080:8080 -v task-gateway:/data -e GATEWAY_AUTH=… -e ADMIN_AUTH=… task-gateway

FROM node:24.21.0-bookworm-slim
WORKDIR /gateway
COPY package.json package-lock.json ./
COPY generated generated
COPY sdk/package.json sdk/package.json
COPY server server
RUN --mount=type=cache,target=/root/.npm \
  npm ci --omit=dev --omit=optional --workspace server --ignore-scripts \
  && mkdir -p /data node_modules/.cache \
  && chown node:node /data node_modules/.cache
USER node
# A first start fills the compile cache: every later one takes a third less.
RUN GATEWAY_AUTH=only-while-the-image-is-built STORE=sqlite:/tmp/first/gateway.db PORT=0 timeout --preserve-status 10 \
  node --max-semi-space-size=16 --import ./server/node-version.js --import ./server/process-setup.js server/main.ts \
  && rm -r /tmp/first
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 STORE=sqlite:/data/gateway.db
VOLUME /data
EXPOSE 8080
# Liveness, not readiness: an outage of the store is no reason to restart the gateway.
HEALTHCHECK --interval=5s --timeout=2s --start-period=15s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/livez').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=16", "--import", "./server/node-version.js", "--import", "./server/process-setup.js", "server/main.ts"]
