package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// faultsTitle begins the part of docs/reference/messages.md that TestFaultMessages writes.
const faultsTitle = "## Faults at a registry\n"

// anyDigest matches digests: which of an image's blobs fails first differs.
var anyDigest = regexp.MustCompile("sha256:[0-9a-f]{64}")

const faultsLead = `
A test answers as these registries do, and runs each command without retries.
`

// The registries in that part, and the command lines that most of it runs.
const (
	faultySource = "source.example.com"
	faultyMirror = "mirror.example.com:5000"
	planFault    = "plan -c app.yaml"
	mirrorFault  = "mirror -c app.yaml docker://" + faultyMirror
	statusFault  = "status docker://" + faultyMirror
)

// A registryFault is something that goes wrong at the source, or at the mirror.
type registryFault struct {
	what           string
	command        string
	source, mirror []registrytest.Rule
	// serve, if set, is the mirror in place of a registry in memory. proxied names it, with a proxy in between.
	serve   func(t *testing.T) (host string)
	proxied bool
}

// At the start of rules: the API, manifests, blobs and uploads.
func onAll(a registrytest.Action) []registrytest.Rule { return []registrytest.Rule{{Action: a}} }
func onRead(path string, a registrytest.Action) []registrytest.Rule {
	return []registrytest.Rule{{Method: http.MethodGet, Path: path, Action: a}}
}
func onWrite(method, path string, a registrytest.Action) []registrytest.Rule {
	return []registrytest.Rule{{Method: method, Path: path, Action: a}}
}

const (
	appManifest = "/org/app/manifests/"
	appBlob     = "/org/app/blobs/"
	appUpload   = "/org/app/blobs/uploads/"
)

func registryFaults() []registryFault {
	status := registrytest.Status
	refuse := registrytest.Refuse
	bearer := func(realm string) registrytest.Action {
		return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			w.Header().Set("Www-Authenticate", fmt.Sprintf(`Bearer realm="%s",service="registry"`, strings.ReplaceAll(realm, "HOST", r.Host)))
			http.Error(w, "", http.StatusUnauthorized)
		}
	}
	loop := func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	}
	text := func(code int, body string) registrytest.Action {
		return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	return []registryFault{
		{what: "the source wants credentials, and there are none", command: planFault, source: onAll(status(401, "WWW-Authenticate", `Basic realm="registry"`))},
		{what: "the mirror refuses the password", command: mirrorFault + " --dest-authfile auth.json", mirror: onAll(status(401, "WWW-Authenticate", `Basic realm="registry"`))},
		{what: "the mirror permits no push", command: mirrorFault, mirror: onWrite("POST", appUpload, refuse(403, "DENIED"))},
		{what: "the token server answers 500", command: mirrorFault, mirror: append(onRead("^/token", status(500)), onAll(bearer("http://HOST/token"))...)},
		{what: "the token server answers with a page", command: mirrorFault, mirror: append(onRead("^/token", registrytest.Page()), onAll(bearer("http://HOST/token"))...)},
		{what: "the token server does not exist", command: mirrorFault, mirror: onAll(bearer("https://no-such-host.invalid/token"))},
		{what: "the image is not there", command: planFault, source: onRead(appManifest, refuse(404, "MANIFEST_UNKNOWN"))},
		{what: "a blob of the image is not there", command: mirrorFault, source: onRead(appBlob, refuse(404, "BLOB_UNKNOWN"))},
		{what: "there is no registry, but another server", command: statusFault, serve: func(t *testing.T) string { return serving(t, http.NotFoundHandler()) }},
		{what: "a page answers, such as the login of a network", command: statusFault, mirror: onAll(registrytest.Page())},
		{what: "a page answers in place of the manifest", command: planFault, source: onRead(appManifest, registrytest.Page())},
		{what: "too many requests", command: planFault, source: onRead(appManifest, status(429))},
		{what: "500 for the manifest", command: planFault, source: onRead(appManifest, status(500))},
		{what: "503 for everything", command: statusFault, mirror: onAll(status(503))},
		{what: "a reverse proxy has no registry behind it", command: statusFault, mirror: onAll(text(502, "<html>Bad Gateway</html>"))},
		{what: "the manifest has another digest", command: planFault, source: onRead(appManifest, registrytest.WrongBytes())},
		{what: "the manifest is cut off", command: planFault, source: onRead(appManifest, registrytest.Cut(100))},
		{what: "the manifest is shorter than its digest says", command: planFault, source: onRead(appManifest, registrytest.ShortBody(100))},
		{what: "a blob has another digest", command: mirrorFault, source: onRead(appBlob, registrytest.WrongBytes())},
		{what: "a blob is cut off", command: mirrorFault, source: onRead(appBlob, registrytest.Cut(10))},
		{what: "the manifest has a type that is not known", command: planFault, source: onRead(appManifest, strange)},
		{what: "the manifest is an image of 2014", command: planFault, source: onRead(appManifest, schema1)},
		{what: "redirects lead in a circle", command: mirrorFault, source: onRead(appBlob, loop)},
		{what: "a redirect leads to a file", command: mirrorFault, source: onRead(appBlob, status(307, "Location", "file:///etc/passwd"))},
		{what: "the connection breaks", command: planFault, source: onRead(appManifest, registrytest.Reset())},
		{what: "no answer comes", command: planFault + " --silent-timeout 1s", source: onRead(appManifest, registrytest.NoResponse())},
		{what: "nothing listens", command: statusFault, serve: func(t *testing.T) string {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			fail.On(t, err)
			fail.On(t, l.Close())
			return l.Addr().String()
		}},
		{what: "the name does not exist", command: "status docker://no-such-host.invalid:5000"},
		{what: "the server has no TLS", command: statusFault, proxied: true},
		{what: "the certificate has expired", command: statusFault + " --cert-dir certs", serve: func(t *testing.T) string { return withCertificate(t, 0, "127.0.0.1") }},
		{what: "the certificate is for another name", command: statusFault + " --cert-dir certs", serve: func(t *testing.T) string { return withCertificate(t, time.Hour, "192.0.2.1") }},
		{what: "the certificate has an unknown issuer", command: statusFault, serve: func(t *testing.T) string {
			return registrytest.New(t, registrytest.Options{TLS: true}).Host
		}},
		{what: "plain HTTP is requested of a server with TLS", command: statusFault + " --dest-plain-http", serve: func(t *testing.T) string {
			return registrytest.New(t, registrytest.Options{TLS: true}).Host
		}},
		{what: "the mirror refuses the upload", command: mirrorFault, mirror: onWrite("POST", appUpload, refuse(400, "UNSUPPORTED"))},
		{what: "a proxy limits the size of an upload", command: mirrorFault, mirror: onWrite("PUT", appUpload, text(413, "<html>Request Entity Too Large</html>"))},
		{what: "the disk of the mirror is full", command: mirrorFault, mirror: onWrite("PUT", appUpload, text(500, `{"errors":[{"code":"UNKNOWN","message":"unknown error","detail":{"Op":"write","Path":"/var/lib/registry","Err":28}}]}`))},
		{what: "the quota of the project is exceeded", command: mirrorFault, mirror: onWrite("PUT", appManifest, text(412, `{"errors":[{"code":"PRECONDITION","message":"adding 1.0 MiB of storage resource, which when updated to current usage of 9.5 MiB will exceed the configured upper limit of 10.0 MiB."}]}`))},
		{what: "the mirror is read-only", command: mirrorFault, mirror: onWrite("POST", appUpload, refuse(405, "UNSUPPORTED"))},
		{what: "the tag is immutable", command: mirrorFault, mirror: onWrite("PUT", appManifest+"v1", text(412, `{"errors":[{"code":"PRECONDITION","message":"Failed to process request due to 'app:v1' configured as immutable."}]}`))},
		{what: "the mirror does not take the type of the manifest", command: mirrorFault, mirror: onWrite("PUT", appManifest, refuse(400, "MANIFEST_INVALID"))},
		{what: "repositories have to be created first", command: mirrorFault, mirror: onWrite("POST", appUpload, refuse(404, "NAME_UNKNOWN"))},
		{what: "the mirror claims to have stored what it does not have", command: mirrorFault, mirror: onWrite("PUT", appManifest, refuse(400, "MANIFEST_BLOB_UNKNOWN"))},
	}
}

// strange answers with a manifest of a type that is not known.
func strange(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/vnd.example.thing+json")
	_, _ = io.WriteString(w, `{"schemaVersion":2,"mediaType":"application/vnd.example.thing+json"}`)
}

// schema1 answers with a manifest of schema 1.
func schema1(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v1+prettyjws")
	_, _ = io.WriteString(w, `{"schemaVersion":1,"name":"org/app","tag":"v1","architecture":"amd64","fsLayers":[],"history":[]}`)
}

// withCertificate serves with a certificate that ends after a time and is for an address, and writes its issuer to the
// folder certs.
func withCertificate(t *testing.T, end time.Duration, address string) (host string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fail.On(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC), IPAddresses: []net.IP{net.ParseIP(address)},
	}
	if end > 0 {
		template.NotAfter = time.Now().Add(end)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	fail.On(t, err)
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	fail.On(t, os.Mkdir("certs", 0o700))
	fail.On(t, os.WriteFile("certs/ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return s.Listener.Addr().String()
}

// tunnel serves a proxy that connects to one address, whatever it is asked for.
func tunnel(t *testing.T, to string) (host string) {
	return serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", to)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		client, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		}()
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}))
}

func serving(t *testing.T, h http.Handler) (host string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// TestFaultMessages lets everything go wrong at registries that can, one after the other, and compares what is said with
// docs/reference/messages.md.
func TestFaultMessages(t *testing.T) {
	doc, err := os.ReadFile(messagesDoc)
	fail.On(t, err)
	where, err := filepath.Abs(messagesDoc)
	fail.On(t, err)
	others, _, _ := strings.Cut(string(doc), faultsTitle)
	var want bytes.Buffer
	want.WriteString(others + faultsTitle + faultsLead + "\n```\n")
	image, err := registrytest.Image("app")
	fail.On(t, err)
	home := t.TempDir()
	for _, f := range registryFaults() {
		t.Chdir(t.TempDir())
		source, mirror := registrytest.New(t, registrytest.Options{}), registrytest.New(t, registrytest.Options{Rules: f.mirror})
		_, err := source.Client().Push(t.Context(), "org/app", "v1", image)
		fail.On(t, err)
		source.Script(f.source...)
		host := mirror.Host
		if f.serve != nil {
			host = f.serve(t)
		}
		fail.On(t, os.WriteFile("app.yaml", []byte(strings.ReplaceAll(messageFiles["app.yaml"], "127.0.0.1:1", source.Host)), 0o600))
		fail.On(t, os.WriteFile("auth.json", []byte(`{"auths":{"`+host+`":{"auth":"Z2FudHJ5OndvcmQ="}}}`), 0o600))
		env := map[string]string{"HOME": home}
		if f.proxied {
			env["HTTPS_PROXY"], host = "http://"+tunnel(t, host), faultyMirror
		}
		var stdout, stderr bytes.Buffer
		args := append([]string{"-q", "--log-level", "error"}, strings.Fields(strings.ReplaceAll(f.command, faultyMirror, host))...)
		args = append(args, "--retry-times", "0")
		code := (&app{stdout: &stdout, stderr: &stderr, env: env}).run(args)
		said := anyDigest.ReplaceAllString(strings.NewReplacer(source.Host, faultySource, host, faultyMirror).Replace(stderr.String()), "sha256:…")
		if word := leaked.FindString(said); word != "" || !strings.Contains(said, "gantry: ") || !remedied.MatchString(said) {
			t.Errorf("gantry %s (%s): %q does not say what to do, or has the words %q of a library", f.command, f.what, said, word)
		}
		if code == exitOK {
			t.Errorf("gantry %s (%s) ended with 0: %s", f.command, f.what, said)
		}
		fmt.Fprintf(&want, "# %s\n$ gantry %s\n%s", f.what, f.command, said)
	}
	want.WriteString("```\n")
	if os.Getenv(updateScripts) != "" {
		fail.On(t, os.WriteFile(where, want.Bytes(), 0o644))
		return
	}
	fail.Diff(t, want.String(), string(doc))
}
