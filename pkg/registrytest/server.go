// Package registrytest provides registries for tests, and content to fill them with.
//
// Two kinds of registry have the same front. Start serves a real CNCF distribution registry from a
// process; New serves a registry in memory. Clients see the same in both cases: an address on
// loopback, plain http or TLS with a private CA, a log of every request, and a script of faults
// that can be changed while the registry runs.
//
//	client -> [ TLS -> log -> faults -> namespace ] -> distribution process, or memory
//
// Starting a process takes longer than most tests. Therefore all servers of a test binary share one
// process, unless their options need their own. Each has a namespace there, so that no test sees
// the content of another.
//
// The package also makes the content: layers, images, multi-platform indexes, bundle and catalog
// images whose bytes depend on their names alone, and the Sample, two small operator catalogs with
// everything that they name. Client pushes and pulls without any of Gantry's own code, so that
// checks of Gantry's copies do not share its mistakes.
//
// The package is for tests and demonstrations. A test in cmd/gantry checks that the program does
// not link it.
package registrytest

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// Auth is the authentication scheme of a registry.
type Auth int

// The authentication schemes.
const (
	NoAuth    Auth = iota
	BasicAuth      // the Basic scheme, from an htpasswd file
	TokenAuth      // the Bearer scheme, with tokens from a server of its own
)

// The only account of a registry with authentication.
const (
	username = "gantry"
	password = "air-gap-0451"
)

// Options describe a registry. The zero value is plain http, without authentication and faults.
type Options struct {
	TLS  bool
	Auth Auth // Start only
	// TokenLifetime is how long a token of TokenAuth is valid; 0 is a minute.
	TokenLifetime time.Duration
	// Storage, if set, is a folder that Keep wrote: the registry begins with a copy of it. It is CNCF distribution. Start
	// only.
	Storage string
	// Sparse accepts indexes with missing images, and layers that are only at a vendor's URLs. Start only.
	Sparse bool
	// Alone starts a separate process for this server, which Restart and Keep need. Other servers
	// without Auth and Sparse share one process. Start only.
	Alone bool
	// Rules are the initial faults; Script replaces them.
	Rules []Rule
	// Registry is the name of one of Registries; "" is the one in $GANTRY_TEST_REGISTRY. Start only.
	Registry string
}

// A Server is a registry for one test, on loopback. It ends with the test.
type Server struct {
	// Host is the registry's "127.0.0.1:port". Restart does not change it.
	Host string
	// CAFile is the PEM file of the CA that signed the certificate. CertDir is a folder like
	// /etc/containers/certs.d with this CA. Both are "" without TLS.
	CAFile, CertDir string
	// Username and Password are the account of the registry, and AuthFile is a containers-auth.json
	// with them; all are "" without Auth.
	Username, Password, AuthFile string

	t       testing.TB
	tls     *tls.Config // for clients; nil without TLS
	log     *requestLog
	script  *script
	front   *httptest.Server
	process *process // nil for New
	lacks   string   // the name of a registry of Start without files; "" for others
	// listener is the front's, or the one of the last Open.
	listener net.Listener
	// namespace is the prefix of the server's repositories in the storage of a shared
	// process; "" for a process of its own.
	namespace string
	turning   *turning       // to the namespace; nil for a process of its own
	shared    *sharedProcess // nil for a process of its own
}

// New serves a registry made by Memory. It starts at once and needs no program.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	return Serve(t, o, Memory())
}

// Serve puts an HTTP server behind the same front, with its log, faults and TLS. Client and Restart
// do not work with such a server.
func Serve(t testing.TB, o Options, h http.Handler) *Server {
	t.Helper()
	if o.Auth != NoAuth || o.Storage != "" {
		t.Fatal("registrytest: credentials and storage are a registry's of a process: use Start")
	}
	s, ca := prepare(t, o)
	s.begin(ca, h)
	s.writeCertDir(ca, s.Host)
	return s
}

// URL is the server's address with its scheme, "http://127.0.0.1:port".
func (s *Server) URL() string { return s.url(s.Host) }

// Start serves a real registry, with its storage in a temporary folder and deletion enabled.
// Servers share one process if their options allow it; no server sees the content of another. The
// registry is the one that $GANTRY_TEST_REGISTRY names (see Registries), or a program that it has the path of. A program is built once
// from the project's tools module and kept in the user's cache folder, or it is docker-registry or registry in PATH.
// A test that needs what its registry does not have is skipped.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	r, program, err := chosenRegistry(o.Registry)
	fail.On(t, err)
	switch {
	case !r.Files && o.Storage != "": // what Keep wrote
		r = Registries()[0]
	case !r.Files && (o.Auth != NoAuth || o.Sparse):
		t.Skipf("registrytest: %s has no credentials and no sparse indexes", r.Name)
	}
	if r.Tools == "" {
		s := New(t, Options{TLS: o.TLS, Rules: o.Rules})
		s.lacks = r.Name
		return s
	}
	s, ca := prepare(t, o)
	if program == "" {
		program, err = findProgram(t.Context(), r)
		fail.On(t, err)
	}
	if !r.Files {
		s.lacks = r.Name
	}
	if o.Auth == NoAuth && !o.Sparse && (!o.Alone || !r.Files) {
		s.shared = sharedBy(r)
		if s.process, s.namespace, err = s.shared.acquire(t.Context(), program, o.Storage); err != nil {
			t.Fatalf("registrytest: %v", err)
		}
		t.Cleanup(func() {
			if err := s.shared.release(); err != nil {
				t.Errorf("registrytest: %v", err)
			}
		})
		s.turning = &turning{next: s.process.proxy(s.namespace)}
		s.begin(ca, s.turning)
		s.writeCertDir(ca, s.Host)
		return s
	}
	settings := processConfig{program: program, dir: TempDir(t), auth: o.Auth, sparse: o.Sparse}
	if o.Auth != NoAuth {
		s.Username, s.Password = username, password
	}
	var tokenHost string
	if o.Auth == TokenAuth {
		ts, err := newTokenServer(ca, o.TokenLifetime)
		fail.On(t, err)
		tokenHost = s.serve(ca, ts).Listener.Addr().String()
		settings.realm = s.url(tokenHost) + "/token"
		settings.tokenRoots = filepath.Join(settings.dir, "token-roots.pem")
		fail.On(t, os.WriteFile(settings.tokenRoots, ca.pem, 0o600))
	}
	if s.process, err = newProcess(settings); err != nil {
		t.Fatalf("registrytest: %v", err)
	}
	if o.Storage != "" {
		fail.On(t, fillStorage(s.process.storage(), o.Storage, "", true))
	}
	t.Cleanup(func() {
		s.process.close()
		if t.Failed() {
			t.Logf("the end of the registry's log:\n%s", s.process.logTail())
		}
	})
	fail.On(t, s.process.start(t.Context()))
	s.begin(ca, s.process.proxy(""))
	s.writeCertDir(ca, s.Host, tokenHost)
	s.writeAuthFile()
	return s
}

// needsFiles skips the test if its registry stores no files.
func (s *Server) needsFiles() {
	s.t.Helper()
	if s.lacks != "" {
		s.t.Skipf("registrytest: %s stores no files", s.lacks)
	}
}

// Client returns a client that trusts the registry and has its credentials.
func (s *Server) Client() *Client {
	c := NewClient(s.Host)
	c.http.Transport = &http.Transport{TLSClientConfig: s.tls}
	if s.tls != nil {
		c.scheme = "https"
	}
	c.username, c.password = s.Username, s.Password
	return c
}

func prepare(t testing.TB, o Options) (*Server, *authority) {
	t.Helper()
	s := &Server{t: t, log: &requestLog{}, script: &script{}}
	s.script.set(o.Rules)
	if !o.TLS && o.Auth != TokenAuth {
		return s, nil
	}
	ca, err := newAuthority()
	fail.On(t, err)
	if o.TLS {
		s.tls = &tls.Config{RootCAs: ca.pool(), MinVersion: tls.VersionTLS12}
	}
	return s, ca
}

func (s *Server) url(host string) string {
	if s.tls != nil {
		return "https://" + host
	}
	return "http://" + host
}

func (s *Server) writeCertDir(ca *authority, hosts ...string) {
	s.t.Helper()
	if s.tls == nil {
		return
	}
	s.CertDir = s.t.TempDir()
	for _, h := range hosts {
		if h == "" {
			continue
		}
		dir := filepath.Join(s.CertDir, h)
		fail.On(s.t, os.Mkdir(dir, 0o700))
		s.CAFile = filepath.Join(s.CertDir, hosts[0], "ca.crt")
		fail.On(s.t, os.WriteFile(filepath.Join(dir, "ca.crt"), ca.pem, 0o600))
	}
}

func (s *Server) writeAuthFile() {
	s.t.Helper()
	if s.Username == "" {
		return
	}
	type entry struct {
		Auth string `json:"auth"`
	}
	text, err := json.Marshal(map[string]map[string]entry{"auths": {
		s.Host: {Auth: base64.StdEncoding.EncodeToString([]byte(s.Username + ":" + s.Password))},
	}})
	fail.On(s.t, err)
	s.AuthFile = filepath.Join(s.t.TempDir(), "auth.json")
	fail.On(s.t, os.WriteFile(s.AuthFile, text, 0o600))
}
