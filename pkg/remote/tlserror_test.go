package remote_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// Hints of failed TLS handshakes fit their cause: an old version of TLS is not a missing client
// certificate, and neither is one that the server does not accept.
func TestFailedHandshakes(t *testing.T) {
	ours, theirs := newAuthority(t, "Our CA"), newAuthority(t, "Their CA")
	serve := func(change func(*tls.Config)) *httptest.Server {
		certPEM, keyPEM := ours.pair(t, "registry")
		pair, err := tls.X509KeyPair(certPEM, keyPEM)
		fail.On(t, err)
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		change(s.TLS)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	old := serve(func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS10 })
	// A server that ignores what the client supports.
	deaf := httptest.NewUnstartedServer(http.NotFoundHandler())
	deaf.Listener = oldServer{deaf.Listener}
	deaf.Start()
	t.Cleanup(deaf.Close)
	otherCiphers := serve(func(c *tls.Config) {
		c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}
	})
	requires := func(version uint16, anyIssuer bool) *httptest.Server {
		return serve(func(c *tls.Config) {
			c.MaxVersion = version
			pool := x509.NewCertPool()
			pool.AddCert(theirs.cert)
			if anyIssuer { // it names no issuers and refuses what it gets
				c.ClientAuth = tls.RequireAnyClientCert
				c.VerifyPeerCertificate = func([][]byte, [][]*x509.Certificate) error { return errors.New("revoked") }
				return
			}
			c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, pool
		})
	}
	cert, key := ours.pair(t, "me")
	with := func(client bool) remote.Options {
		dir := t.TempDir()
		write(t, ours.pem, dir, "ca.crt")
		if client {
			write(t, cert, dir, "me.cert")
			write(t, key, dir, "me.key")
		}
		return remote.Options{CertDir: dir}
	}
	for name, tc := range map[string]struct {
		server *httptest.Server
		client bool // there is a client certificate
		kind   error
		says   []string
		not    string
	}{
		"TLS 1.0":                           {old, false, remote.ErrUnreachable, []string{"TLS 1.2"}, "client.cert"},
		"TLS 1.0, with a certificate":       {old, true, remote.ErrUnreachable, []string{"TLS 1.2"}, "me.cert"},
		"TLS 1.0, without an alert":         {deaf, false, remote.ErrUnreachable, []string{"TLS 1.2"}, "client.cert"},
		"no common cipher":                  {otherCiphers, false, remote.ErrUnreachable, []string{"cipher"}, ""},
		"none, TLS 1.3":                     {requires(tls.VersionTLS13, false), false, remote.ErrUntrusted, []string{"client.cert"}, ""},
		"none, TLS 1.2":                     {requires(tls.VersionTLS12, false), false, remote.ErrUntrusted, []string{"client.cert"}, ""},
		"refused, TLS 1.3":                  {requires(tls.VersionTLS13, true), true, remote.ErrUntrusted, []string{"me.cert", "CN=Our CA", "valid until"}, "client.cert"},
		"refused, TLS 1.2":                  {requires(tls.VersionTLS12, true), true, remote.ErrUntrusted, []string{"me.cert", "CN=Our CA"}, "client.cert"},
		"of an issuer that is not accepted": {requires(tls.VersionTLS13, false), true, remote.ErrUntrusted, []string{"me.cert", "CN=Our CA", "CN=Their CA"}, "client.cert"},
	} {
		t.Run(name, func(t *testing.T) {
			o := with(tc.client)
			clock := newClock()
			o.Clock = clock
			c := newClient(t, o)
			_, _, err := c.ManifestExists(t.Context(), repoAt(tc.server, "a").WithTag("v1"))
			if !errors.Is(err, tc.kind) || len(clock.waits) > 0 {
				t.Errorf("%v after %v", err, clock.waits)
			}
			text := ""
			if err != nil {
				text = advice.Text(err)
			}
			for _, s := range tc.says {
				if !strings.Contains(text, s) {
					t.Errorf("want %q in: %s", s, text)
				}
			}
			if tc.not != "" && strings.Contains(text, tc.not) {
				t.Errorf("%q is not the cause: %s", tc.not, text)
			}
			t.Log(text)
		})
	}
}

// An oldServer selects TLS 1.0 in each handshake.
type oldServer struct{ net.Listener }

func (l oldServer) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	hello := append([]byte{2, 0, 0, 38, 3, 1}, make([]byte, 32)...) // ServerHello, version, random
	hello = append(hello, 0, 0, 0x2f, 0)                            // no session, AES 128 CBC, no compression
	_, _ = c.Write(append([]byte{22, 3, 1, 0, byte(len(hello))}, hello...))
	return c, nil
}
