package registryserver_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/registryserver"
	"github.com/gantry-mirror/gantry/pkg/image"
)

// certificate returns a certificate for 127.0.0.1, and a pool that trusts it.
func certificate(t testing.TB) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fail.On(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	fail.On(t, err)
	leaf, err := x509.ParseCertificate(raw)
	fail.On(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, pool
}

// listen starts a server as the program does. It returns the address and a function that stops the
// server and returns the error of Serve.
func listen(t testing.TB, log *slog.Logger, handler http.Handler, c *tls.Certificate) (addr string, stop func() error) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	fail.On(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- registryserver.Serve(ctx, log, l, handler, c) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { fail.On(t, stop()) })
	return l.Addr().String(), stop
}

func registry(t testing.TB, s image.Reader, log *slog.Logger, images ...registryserver.Image) *registryserver.Registry {
	t.Helper()
	r, err := registryserver.New(s, log, slices.Values(images))
	fail.On(t, err)
	return r
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// TestServeTLS checks that the registry supports HTTP/2 and HTTP/1.1 over TLS, that it refuses
// plain HTTP and old TLS versions, and that clients detect damage with both protocols.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	sh := newMemorySource()
	sound, bad := noise(800_000), noise(900_000)
	r := registry(t, sh, quiet(), at("app", sh.image(t, nil, sound, bad), "v1"))
	sh.wrong[digest.FromString(bad)] = true
	c, pool := certificate(t)
	addr, _ := listen(t, quiet(), r, c)
	for version, protocols := range map[int]func(*http.Protocols){
		1: func(p *http.Protocols) { p.SetHTTP1(true) },
		2: func(p *http.Protocols) { p.SetHTTP2(true) },
	} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, Protocols: new(http.Protocols)}
		protocols(transport.Protocols)
		get := func(text string, header ...string) (*http.Response, string, error) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+addr+"/v2/app/blobs/"+digest.FromString(text).String(), http.NoBody)
			fail.On(t, err)
			for _, h := range header {
				req.Header.Set("Range", h)
			}
			resp, err := transport.RoundTrip(req)
			fail.On(t, err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			return resp, string(body), err
		}
		if resp, body, err := get(sound); err != nil || resp.ProtoMajor != version || body != sound {
			t.Errorf("HTTP/%d: %s, %d bytes, %v", version, resp.Proto, len(body), err)
		}
		if resp, body, err := get(sound, "bytes=3-4"); err != nil || resp.StatusCode != http.StatusPartialContent || body != sound[3:5] {
			t.Errorf("HTTP/%d: %s, %q, %v", version, resp.Status, body, err)
		}
		if _, body, err := get(bad); err == nil || len(body) >= len(bad) {
			t.Errorf("HTTP/%d: of a damaged blob %d bytes came, with the error %v", version, len(body), err)
		}
		transport.CloseIdleConnections()
	}
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}}
	if conn, err := dialer.DialContext(t.Context(), "tcp", addr); err == nil {
		conn.Close()
		t.Error("it speaks TLS 1.1")
	}
	if got := raw(t, addr, "GET /v2/ HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.0 400") {
		t.Errorf("without TLS it answers %q", got)
	}
}

// raw sends bytes and returns the response until the connection ends.
func raw(t testing.TB, addr, text string) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	fail.On(t, err)
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	_, _ = io.WriteString(conn, text) // the server may have closed the connection already
	got, _ := io.ReadAll(conn)
	return string(got)
}

// TestHostile sends requests that no client sends. It checks that none of them reads content, and
// that the registry keeps running.
func TestHostile(t *testing.T) {
	t.Parallel()
	sh := newMemorySource()
	img := sh.image(t, nil, noise(500_000))
	layer := img.Blobs[1].Digest.String()
	addr, _ := listen(t, quiet(), registry(t, sh, quiet(), at("app", img, "v1")), nil)
	for request, want := range map[string]string{
		"GET /v2/../../etc/passwd":                                          "404",
		"GET /v2/app/blobs/../../../../etc/passwd":                          "404",
		"GET /v2/app/../app/manifests/v1":                                   "400",
		"GET /v2//manifests/v1":                                             "400",
		"GET /v2/app//manifests/v1":                                         "400",
		"GET //v2/app/manifests/v1":                                         "404",
		"GET /v2/app/manifests/%2e%2e%2f%2e%2e%2fetc%2fpasswd":              "404",
		"GET /v2/app/manifests/..":                                          "404",
		"GET /v2/app/manifests/v1%00":                                       "404",
		"GET /v2/app/manifests/":                                            "404",
		"GET /v2/app/blobs/sha256:../../../../../../../../../../etc/passwd": "404",
		"GET /v2/app/blobs/sha256:%2e%2e%2f%2e%2e%2fetc":                    "404",
		"GET /v2/app/blobs/" + layer[:70]:                                   "400",
		"GET /v2/app/blobs/" + strings.ToUpper(layer):                       "400",
		"GET /v2/app/blobs/" + layer + "/":                                  "404",
		"GET /v2/C:%5cWindows/manifests/v1":                                 "400",
		"GET /v2/%ff%fe/manifests/v1":                                       "400",
		"GET /v2/" + strings.Repeat("a/", 4000) + "manifests/v1":            "400",
		"GET /v2/app/manifests/" + strings.Repeat("v", 20000):               "404",
		"GET /v2/app/tags/list?n=1&last=" + strings.Repeat("%00", 5000):     "200",
		"GET /v2/app/tags/list?n=%zz":                                       "200",
		"GET /v2/" + strings.Repeat("x", 100_000):                           "431",
		"GET /v2/app/manifests/%":                                           "400",
		"BREW /v2/app/manifests/v1":                                         "405",
		"GET http://elsewhere.example.com/v2/app/manifests/v2":              "404",
		"CONNECT elsewhere.example.com:443":                                 "405",
	} {
		got := raw(t, addr, request+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 "+want) {
			t.Errorf("%.80q: %.200q, want %s", request, got, want)
		}
		if _, body, _ := strings.Cut(got, "\r\n\r\n"); strings.Contains(body, "root:") || len(body) > 2000 {
			t.Errorf("%.80q is answered with %.100q", request, body)
		}
	}
	if reads := sh.reads(); reads != nil {
		t.Errorf("it read %v", reads)
	}
	// A push with a body is refused without waiting for the body.
	got := raw(t, addr, "PUT /v2/app/manifests/v1 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\nExpect: 100-continue\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 405") {
		t.Errorf("a push is answered with %.200q", got)
	}
	// Requests with two lengths are used to smuggle requests past a proxy.
	got = raw(t, addr, "GET /v2/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v2/app/manifests/v1 HTTP/1.1\r\nHost: x\r\n\r\n")
	if strings.Count(got, "HTTP/1.1 ") > 1 {
		t.Errorf("two answers to one request: %q", got)
	}
}

// TestManyConnections checks that other clients can pull while many connections are idle, send half
// a request, or do not read the response.
func TestManyConnections(t *testing.T) {
	t.Parallel()
	sh := newMemorySource()
	text := noise(8 << 20)
	addr, stop := listen(t, quiet(), registry(t, sh, quiet(), at("app", sh.image(t, nil, text), "v1")), nil)
	path := "/v2/app/blobs/" + digest.FromString(text).String()
	for i := range 300 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
		fail.On(t, err)
		defer conn.Close()
		switch i % 3 {
		case 1:
			_, err = io.WriteString(conn, "GET /v2/ HTTP/1.1\r\nHost")
		case 2:
			_, err = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		}
		fail.On(t, err)
	}
	s := &site{url: "http://" + addr}
	for range 3 {
		if a := s.ask(t, "GET", path).want(t, http.StatusOK, ""); a.err != nil || a.body != text {
			t.Errorf("%d bytes came (%v)", len(a.body), a.err)
		}
	}
	// They do not delay the end of the registry either.
	begin := time.Now()
	fail.On(t, stop())
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

// TestAccessLog checks that requests are logged with their result, but without user name and
// password.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	sh := newMemorySource()
	log := &logged{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	addr, stop := listen(t, logger, registry(t, sh, logger, at("app", sh.image(t, nil, "x"), "v1")), nil)
	s := &site{url: "http://" + addr}
	s.ask(t, "GET", "/v2/app/tags/list?n=7", "Authorization", basic("ann", "sesame"), "User-Agent", "podman/5")
	s.ask(t, "PUT", "/v2/app/manifests/v1")
	fail.On(t, stop())
	for _, words := range []string{
		`method=GET path=/v2/app/tags/list query="n=7" from=127.0.0.1:`, "agent=podman/5 status=200 bytes=29 took=",
		"method=PUT path=/v2/app/manifests/v1", "status=405",
	} {
		if !strings.Contains(log.String(), words) {
			t.Errorf("the log lacks %q:\n%s", words, log)
		}
	}
	if strings.Contains(log.String(), "Basic") || strings.Contains(log.String(), "sesame") {
		t.Errorf("the log has the password:\n%s", log)
	}
}
