// Connects both TypeScript SDKs by address alone. The first argument is the address of the MCP endpoint, the second the
// program that answers in place of the browser. It is run where the packages are installed.
import { execFileSync } from 'node:child_process';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HTTP1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as Client2, StreamableHTTPClientTransport as HTTP2 } from '@modelcontextprotocol/client';

const [url, answer] = process.argv.slice(2);
const redirect = 'http://127.0.0.1:47811/callback';
const kettle = { product_name: 'Kettle', start_date: '2026-01-01', end_date: '2030-01-01' };

class Provider {
	constructor(name, env) { this.name = name; this.env = env; this.asked = 0; }
	get redirectUrl() { return redirect; }
	get clientMetadata() {
		return { client_name: this.name, redirect_uris: [redirect], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' };
	}
	state() { return (this.sent = crypto.randomUUID()); }
	clientInformation() { return this.client; }
	saveClientInformation(client) { this.client = client; }
	tokens() { return this.saved; }
	saveTokens(tokens) { this.saved = tokens; }
	codeVerifier() { return this.verifier; }
	saveCodeVerifier(verifier) { this.verifier = verifier; }
	discoveryState() { return this.discovered; }
	saveDiscoveryState(state) { this.discovered = state; }
	redirectToAuthorization(address) {
		this.asked++;
		const to = execFileSync(answer, ['--print', String(address)], { env: { ...process.env, ...this.env }, encoding: 'utf8' });
		this.answer = new URL(to.trim()).searchParams;
	}
}

function check(ok, what) {
	if (!ok) throw new Error(what);
}

// connect connects as an application does: the first attempt ends at the browser, the second has the tokens.
async function connect(name, env, client, transport, finish) {
	const provider = new Provider(name, env);
	const first = transport(provider);
	let refused;
	await client().connect(first).catch((error) => { refused = error; });
	check(refused?.constructor.name === 'UnauthorizedError', `${name}: ${refused}`);
	check(provider.answer.get('state') === provider.sent, `${name}: another state`);
	await finish(first, provider.answer);
	const connected = client();
	await connected.connect(transport(provider));
	return { connected, provider };
}

const v1 = [() => new Client1({ name: 'sdk 1', version: '1' }), (authProvider) => new HTTP1(new URL(url), { authProvider }), (t, a) => t.finishAuth(a.get('code'))];
const v2 = (mode) => [() => new Client2({ name: 'sdk 2', version: '1' }, mode ? { versionNegotiation: { mode } } : {}), (authProvider) => new HTTP2(new URL(url), { authProvider }), (t, a) => t.finishAuth(a)];
for (const [name, version] of [['sdk 1', v1], ['sdk 2', v2()], ['sdk 2, auto', v2('auto')]]) {
	const { connected, provider } = await connect(name, {}, ...version);
	const { tools } = await connected.listTools();
	for (const tool of ['create_warranty', 'list_warranties', 'verify_warranty'])
		check(tools.some(({ name }) => name === tool), `${name}: no ${tool} among ${tools.length} tools`);
	const made = await connected.callTool({ name: 'create_warranty', arguments: kettle });
	check(!made.isError, `${name}: ${JSON.stringify(made)}`);
	// The SDK refreshes an access token that the service rejects. Lists would come from its cache.
	provider.saved = { ...provider.saved, access_token: provider.saved.access_token.slice(0, -6) + 'AAAAAA' };
	const before = provider.saved.refresh_token;
	check(!(await connected.callTool({ name: 'list_warranties', arguments: {} })).isError, `${name}: no result after the refresh`);
	check(provider.saved.refresh_token !== before && provider.asked === 1, `${name}: not refreshed`);
	await connected.close();
	console.log(`ok ${name}`);
}

// Version 2 asks for more when a tool needs it.
const { connected, provider } = await connect('sdk 2, more scopes', { CONSENT_READ_ONLY: '1' }, ...v2());
check(!(await connected.listTools()).tools.some((t) => t.name === 'create_warranty'), 'sdk 2: writing was not allowed');
provider.env = {};
let refused;
await connected.callTool({ name: 'create_warranty', arguments: kettle }).catch((error) => { refused = error; });
check(refused && provider.asked === 2, `sdk 2 does not ask for more: ${refused}`);
console.log('ok sdk 2 asks for more scopes');
process.exit(0);
