package remote_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

func mustParse(t testing.TB, s string) reference.Reference {
	t.Helper()
	r, err := reference.Parse(s)
	fail.On(t, err)
	return r
}

// A connListener hands connections that were accepted elsewhere to a server.
type connListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newConnListener() *connListener {
	return &connListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *connListener) hand(c net.Conn) {
	select {
	case l.conns <- c:
	case <-l.done:
		_ = c.Close()
	}
}

func (l *connListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *connListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *connListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443} }

// An authority signs certificates for 127.0.0.1.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = a.issue(t, name, true)
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
	return a
}

func (a *authority) issue(t *testing.T, name string, ca bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fail.On(t, err)
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: ca, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	fail.On(t, err)
	cert, err := x509.ParseCertificate(der)
	fail.On(t, err)
	return cert, key
}

func (a *authority) pair(t *testing.T, name string) (certPEM, keyPEM []byte) {
	t.Helper()
	cert, key := a.issue(t, name, false)
	der, err := x509.MarshalECPrivateKey(key)
	fail.On(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func startTLS(t *testing.T, a *authority, clients *authority) *httptest.Server {
	t.Helper()
	certPEM, keyPEM := a.pair(t, "registry")
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	fail.On(t, err)
	s := httptest.NewUnstartedServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	if clients != nil {
		s.TLS.ClientAuth = tls.RequireAndVerifyClientCert
		s.TLS.ClientCAs = x509.NewCertPool()
		s.TLS.ClientCAs.AddCert(clients.cert)
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func write(t *testing.T, data []byte, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	fail.On(t, os.MkdirAll(filepath.Dir(name), 0o700))
	fail.On(t, os.WriteFile(name, data, 0o600))
}

func TestTLS(t *testing.T) {
	ours, theirs := newAuthority(t, "Our CA"), newAuthority(t, "Their CA")
	plain := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(plain.Close)
	secure, guarded := startTLS(t, ours, nil), startTLS(t, ours, ours)
	clientCert, clientKey := ours.pair(t, "me")

	with := func(files map[string][]byte) string {
		dir := t.TempDir()
		for name, data := range files {
			write(t, data, dir, name)
		}
		return dir
	}
	host := func(s *httptest.Server) string { return repoAt(s, "").Host }
	for _, tc := range []struct {
		name   string
		server *httptest.Server
		o      remote.Options
		want   error
		says   []string
	}{
		{name: "unknown CA", server: secure, want: remote.ErrUntrusted, says: []string{"CN=Our CA", "/certs.d/" + host(secure) + "/ca.crt", "CertDir", "*.crt", "Options.Source.SkipTLSVerify"}},
		{name: "unknown CA at the destination", server: secure, o: remote.Options{Side: remote.Destination}, want: remote.ErrUntrusted, says: []string{"Options.Destination.SkipTLSVerify"}},
		{name: "wrong CA", server: secure, o: remote.Options{CertDir: with(map[string][]byte{"ca.crt": theirs.pem})}, want: remote.ErrUntrusted},
		{name: "CertDir", server: secure, o: remote.Options{CertDir: with(map[string][]byte{"ca.crt": ours.pem})}},
		{name: "CertDir like certs.d", server: secure, o: remote.Options{CertDir: with(map[string][]byte{host(secure) + "/ca.crt": ours.pem})}},
		{name: "certs.d", server: secure, o: remote.Options{CertDirs: []string{with(map[string][]byte{host(secure) + "/ca.crt": ours.pem})}}},
		{name: "certs.d of another host", server: secure, o: remote.Options{CertDirs: []string{with(map[string][]byte{"quay.io/ca.crt": ours.pem})}}, want: remote.ErrUntrusted},
		{name: "not verified", server: secure, o: remote.Options{SkipVerify: true}},
		{name: "client certificate", server: guarded, o: remote.Options{CertDir: with(map[string][]byte{"ca.crt": ours.pem, "me.cert": clientCert, "me.key": clientKey})}},
		{name: "client certificate missing", server: guarded, o: remote.Options{CertDir: with(map[string][]byte{"ca.crt": ours.pem})}, want: remote.ErrUntrusted, says: []string{"client.cert"}},
		{name: "not verified, client certificate missing", server: guarded, o: remote.Options{SkipVerify: true}, want: remote.ErrUntrusted},
		{name: "http on loopback", server: plain},
		{name: "http, not verified", server: plain, o: remote.Options{SkipVerify: true}},
		{name: "plain http", server: plain, o: remote.Options{PlainHTTP: true}},
		{name: "plain http to TLS", server: secure, o: remote.Options{PlainHTTP: true}, says: []string{"do not set Options.Source.PlainHTTP"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Clock = newClock()
			c := newClient(t, tc.o)
			_, ok, err := c.ManifestExists(t.Context(), repoAt(tc.server, "a").WithTag("v1"))
			if ok || tc.want == nil && err != nil && tc.says == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("got %v, %v", ok, err)
			}
			for _, s := range tc.says {
				if err == nil || !strings.Contains(advice.Text(err), s) {
					t.Errorf("the error does not say %q: %v", s, err)
				}
			}
		})
	}
}

func mustURL(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	fail.On(t, err)
	return u
}

func TestBadCertificates(t *testing.T) {
	cert, key := newAuthority(t, "CA").pair(t, "me")
	for name, files := range map[string]map[string][]byte{
		"ca.crt":  {"ca.crt": []byte("not PEM")},
		"me.cert": {"me.cert": cert},
		"me.key":  {"me.key": key},
	} {
		dir := t.TempDir()
		for n, data := range files {
			write(t, data, dir, n)
		}
		if _, err := remote.New(remote.Options{CertDir: dir}); err == nil || !strings.Contains(advice.Text(err), name) {
			t.Errorf("%s: the error does not name the file: %v", name, err)
		}
	}
	if _, err := remote.New(remote.Options{CertDir: filepath.Join(t.TempDir(), "no")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fail.On(t, err)
	addr := l.Addr().String()
	_ = l.Close()
	refused := reference.Reference{Host: addr, Path: "a", Tag: "v1"}
	proxy := func(status int) remote.Options {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		return remote.Options{Proxy: http.ProxyURL(mustURL(t, s.URL))}
	}
	dead := mustURL(t, "http://user:s3cret@"+addr)
	for _, tc := range []struct {
		name    string
		o       remote.Options
		ref     reference.Reference
		says    []string
		retried bool // for ten seconds: the host may be starting
	}{
		{name: "refused", retried: true, ref: refused, says: []string{addr, "connection refused"}},
		{name: "a name that a proxy does not find", retried: true, o: proxy(http.StatusServiceUnavailable), ref: mustParse(t, "quay.example/a:v1"), says: []string{"quay.example", "HTTP 503", "NO_PROXY"}},
		{name: "refused by a proxy", o: proxy(http.StatusForbidden), ref: mustParse(t, "quay.example/a:v1"), says: []string{"quay.example", "HTTP 403", "NO_PROXY"}},
		{name: "no proxy there", retried: true, o: remote.Options{Proxy: http.ProxyURL(dead)}, ref: mustParse(t, "quay.example/a:v1"), says: []string{"quay.example", "through the proxy http://" + addr}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			clock := newClock()
			tc.o.Clock = clock
			c := newClient(t, tc.o)
			for range 2 { // the second time nothing is tried
				_, _, err := c.Manifest(t.Context(), tc.ref)
				if !errors.Is(err, remote.ErrUnreachable) {
					t.Fatalf("got %v", err)
				}
				if tc.retried {
					tc.says = append(tc.says, " attempts in ")
				}
				for _, s := range append(tc.says, "check") {
					if !strings.Contains(advice.Text(err), s) {
						t.Errorf("the error does not say %q: %v", s, err)
					}
				}
				if strings.Contains(advice.Text(err), "s3cret") {
					t.Errorf("the error shows the proxy's password: %v", err)
				}
			}
			var waited time.Duration
			for _, d := range clock.waits {
				waited += d
			}
			n := int(c.Stats().Requests["GET ping"])
			if n != 1+len(clock.waits) || tc.retried != (n > 1) || waited > 10*time.Second || tc.retried && waited < 2*time.Second {
				t.Errorf("%d pings, waits %v, want some: %t", n, clock.waits, tc.retried)
			}
		})
	}
}

// A server of plain http that is not on this machine is named, with the switch.
func TestPlainHTTPWhereTLSIsExpected(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		_, _ = io.CopyN(io.Discard, conn, 16)
		_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	c := newClient(t, remote.Options{Side: remote.Destination, Proxy: http.ProxyURL(mustURL(t, s.URL))})
	_, _, err := c.Manifest(t.Context(), mustParse(t, "registry.example:5000/a:v1"))
	if err == nil || !strings.Contains(advice.Text(err), "Options.Destination.PlainHTTP") {
		t.Errorf("got %v", err)
	}
}

// A registry that speaks http, and is in trouble for a moment, is asked again and
// not told to be another kind of server.
func TestTroubleWhileHTTPIsTried(t *testing.T) {
	f := &faults{method: http.MethodGet, part: "/v2/", answers: repeat(2, reset)}
	s := startRegistry(t, f.wrap)
	c := newClient(t, remote.Options{Clock: newClock()})
	if _, err := c.Tags(t.Context(), repoAt(s, "a"), 0); !errors.Is(err, remote.ErrNotFound) {
		t.Errorf("want an answer to the question: %v", err)
	}
}

// A registry of TLS to which plain http is spoken can do nothing for any image.
func TestTLSWherePlainHTTPIsSpoken(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	c := newClient(t, remote.Options{Side: remote.Destination, PlainHTTP: true, Clock: newClock()})
	_, _, err := c.ManifestExists(t.Context(), repoAt(s, "a").WithTag("v1"))
	if !errors.Is(err, remote.ErrUnreachable) || !strings.Contains(advice.Text(err), "do not set Options.Destination.PlainHTTP") {
		t.Errorf("got %v", err)
	}
}
