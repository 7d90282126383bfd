// Starts npm oidc-provider on a free loopback port and prints its issuer. Its sign-in page takes any name: the subject is
// the name, and the address name@example.com. The names in "verified" change email_verified. Arguments: the folder with
// node_modules, the redirect URL, the address for logout tokens, and "userinfo" to keep claims out of ID tokens.
import http from 'node:http'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const require = createRequire(process.argv[2] + '/')
const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')))

const verified = { unverified: false, text: 'true', absent: undefined }
const server = http.createServer()
server.listen(0, '127.0.0.1', () => {
  const issuer = 'http://127.0.0.1:' + server.address().port
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'svc', client_secret: 'secret', redirect_uris: [process.argv[3]],
      backchannel_logout_uri: process.argv[4], backchannel_logout_session_required: true,
    }],
    findAccount: (ctx, id) => ({
      accountId: id,
      claims: () => ({ sub: id, name: id, email: id + '@example.com', email_verified: id in verified ? verified[id] : true }),
    }),
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    pkce: { required: () => true },
    conformIdTokenClaims: process.argv[5] === 'userinfo',
    features: {
      devInteractions: { enabled: true }, backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true },
    },
    fetch: (u, { dispatcher, ...o }) => fetch(u, o),
  })
  server.on('request', provider.callback())
  console.log(issuer)
})
