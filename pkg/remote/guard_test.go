package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// A site is a set of names with their addresses; all of them lead to one server.
type site struct {
	addresses map[string]string
	listener  net.Addr

	mu     sync.Mutex
	dialed []string // names that were connected to
}

func (s *site) dial(ctx context.Context, network, addr string, check func(netip.Addr) error) (net.Conn, error) {
	name := hostOnly(addr)
	ip, err := netip.ParseAddr(name)
	if at, ok := s.addresses[name]; ok {
		ip, err = netip.MustParseAddr(at), nil
	}
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if err := check(ip); err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	s.mu.Lock()
	s.dialed = append(s.dialed, name)
	s.mu.Unlock()
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, s.listener.String())
	return placedConn{conn, &net.TCPAddr{IP: ip.AsSlice()}}, err
}

// A placedConn seems to lead to another address.
type placedConn struct {
	net.Conn
	remote net.Addr
}

func (c placedConn) RemoteAddr() net.Addr { return c.remote }

// The address that a name resolves to decides where redirects, token realms and uploads may lead.
func TestAddressGuard(t *testing.T) {
	blob, desc := blobOf(10)
	var target string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v2/" || r.Host == hostOf(target):
			serve(blob)(w, r)
		case strings.Contains(r.URL.Path, "/token/"):
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+target+`"`)
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodPost:
			w.Header().Set("Location", target)
			w.WriteHeader(http.StatusAccepted)
		default:
			http.Redirect(w, r, target, http.StatusTemporaryRedirect)
		}
	}))
	defer s.Close()
	names := map[string]string{
		"public": "203.0.113.7", "site": "10.1.2.3", "six": "fd12:3456::1", "shared": "100.64.1.2", "here": "127.0.0.1", "link": "169.254.7.7",
		"cdn": "198.51.100.9", "storage": "10.9.9.9", "storage6": "fd99::9", "cgnat": "100.99.1.1", "loop": "127.0.0.1", "loop6": "::1", "any": "0.0.0.0",
		"metadata": "169.254.169.254", "metadata6": "fd00:ec2::254", "alibaba": "100.100.100.200", "azure": "168.63.129.16", "linked": "fe80::1",
		"mapped": "::ffff:10.1.1.1", "nat64": "64:ff9b::a9fe:a9fe", "multicast": "239.1.1.1",
	}
	reserved := []string{"metadata", "metadata6", "alibaba", "azure", "linked", "nat64", "multicast", "169.254.169.254", "[fe80::2]"}
	loops := []string{"loop", "loop6", "any", "127.0.0.9", "localhost"}
	private := []string{"storage", "storage6", "cgnat", "mapped", "192.168.7.7"}
	for registry, allowed := range map[string][][]string{
		"public": {{"cdn", "public:81"}},
		"site":   {{"cdn", "site:81"}, private},
		"six":    {{"cdn", "six:81"}, private},
		"shared": {{"cdn", "shared:81"}, private},
		"here":   {{"cdn", "here:81"}, private, loops},
		"link":   {{"cdn", "link:81"}, private},
	} {
		want := map[string]bool{"cdn": false, registry + ":81": false}
		for _, list := range [][]string{reserved, loops, private} {
			for _, name := range list {
				want[name] = false
			}
		}
		for _, list := range allowed {
			for _, name := range list {
				want[name] = true
			}
		}
		for name, ok := range want {
			at := &site{addresses: names, listener: s.Listener.Addr()}
			c, err := New(Options{Side: Destination, PlainHTTP: true, Proxy: http.ProxyURL(nil), CertDirs: []string{}})
			fail.On(t, err)
			c.dial = at.dial
			target = "http://" + name + "/x"
			names["localhost"] = "127.0.0.1"
			ref := repo
			ref.Host = registry
			read := func(path string) error {
				ref.Path = path
				r, err := c.Blob(t.Context(), ref, desc, 0)
				if err == nil {
					_, err = io.Copy(io.Discard, r)
					_ = r.Close()
				}
				return err
			}
			_, upload := c.PushBlob(t.Context(), ref, desc, nil, open(blob))
			for what, err := range map[string]error{"a redirect": read("a"), "the upload's location": upload, "the token realm": read("token/a")} {
				switch {
				case ok && what != "the token realm" && err != nil, errors.Is(err, ErrRefused) == ok:
					t.Errorf("%s of %s to %s: %v", what, registry, name, err)
				case !ok && (!strings.Contains(err.Error(), what) || !strings.Contains(advice.Text(err), "external address")):
					t.Errorf("%s of %s to %s: %v", what, registry, name, advice.Text(err))
				}
			}
			if !ok && len(at.dialed) != strings.Count(strings.Join(at.dialed, " "), registry) {
				t.Errorf("%s was dialed: %v", name, at.dialed)
			}
			c.Close()
		}
	}
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// A proxy resolves names itself. What is written as an address is checked, however it is written.
func TestAddressGuardThroughProxy(t *testing.T) {
	blob, desc := blobOf(10)
	var target string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Hostname() != "registry.example" || r.URL.Path == "/v2/" {
			serve(blob)(w, r)
			return
		}
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	}))
	defer proxy.Close()
	through, err := url.Parse(proxy.URL)
	fail.On(t, err)
	for name, ok := range map[string]bool{
		"cdn.example": true, "198.51.100.9": true, "10.1.1.1": false, "127.0.0.1": false, "[::1]": false, "localhost": false, "169.254.169.254": false,
		"127.1": false, "2852039166": false, "0xa9fea9fe": false, "0177.0.0.01": false, "[::ffff:169.254.169.254]": false,
	} {
		c, err := New(Options{PlainHTTP: true, Proxy: http.ProxyURL(through), CertDirs: []string{}})
		fail.On(t, err)
		target = "http://" + name + "/x"
		r, err := c.Blob(t.Context(), repo, desc, 0)
		if err == nil {
			_ = r.Close()
		}
		if ok != (err == nil) || !ok && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		c.Close()
	}
}

// The dialer checks what a name resolves to, before it connects.
func TestDialChecksResolvedAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fail.On(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	fail.On(t, err)
	for name, o := range map[string]origin{"named by the user": {}, "named by a registry": {server: true, public: true}} {
		var address *addressError
		conn, err := dial(t.Context(), "tcp", "localhost:"+port, o.check)
		if err == nil {
			_ = conn.Close()
		}
		if errors.As(err, &address) != o.server || o.server && !address.addr.IsLoopback() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Passwords and identity tokens go over plain HTTP only to the host of the registry itself, and to this machine.
func TestRealmOfPlainRegistry(t *testing.T) {
	blob, desc := blobOf(10)
	for name, tc := range map[string]struct {
		realm     string
		anonymous bool
		sent      bool // the request
	}{
		"the registry":            {realm: "http://registry.lab/token", sent: true},
		"another port of it":      {realm: "http://registry.lab:5001/token", sent: true},
		"another host":            {realm: "http://auth.lab/token"},
		"its own address":         {realm: "http://10.1.2.3/token"},
		"another host, anonymous": {realm: "http://auth.lab/token", anonymous: true, sent: true},
	} {
		for kind, cred := range map[string]keychain.Credential{"password": {Username: "u", Password: "s3cret"}, "identity token": {IdentityToken: "s3cret"}} {
			if tc.anonymous {
				cred = keychain.Credential{}
			}
			asked, leaked := false, false
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/token":
					asked = true
					leaked = r.Header.Get("Authorization") != "" || r.FormValue("refresh_token") != ""
					_, _ = io.WriteString(w, `{"token":"t"}`)
				case r.Header.Get("Authorization") != "Bearer t":
					w.Header().Set("WWW-Authenticate", `Bearer realm="`+tc.realm+`"`)
					w.WriteHeader(http.StatusUnauthorized)
				default:
					serve(blob)(w, r)
				}
			}))
			at := &site{addresses: map[string]string{"registry.lab": "10.1.2.3", "auth.lab": "10.1.2.4"}, listener: s.Listener.Addr()}
			c, err := New(Options{PlainHTTP: true, Proxy: http.ProxyURL(nil), CertDirs: []string{}, Keychain: fixed(cred)})
			fail.On(t, err)
			c.dial = at.dial
			ref := repo
			ref.Host = "registry.lab"
			_, err = c.BlobExists(t.Context(), ref, desc)
			if tc.sent != (err == nil) || !tc.sent && !errors.Is(err, ErrRefused) {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
			if asked != tc.sent || leaked != (tc.sent && !tc.anonymous) {
				t.Errorf("%s, %s: the realm was asked: %t, with credentials: %t", name, kind, asked, leaked)
			}
			if text := advice.Text(err); err != nil && (strings.Contains(text, "s3cret") || !strings.Contains(text, "https address")) {
				t.Errorf("%s, %s: %s", name, kind, text)
			}
			c.Close()
			s.Close()
		}
	}
}

// fixed has one credential for every host.
type fixed keychain.Credential

func (f fixed) Credential(context.Context, string, string) (keychain.Credential, error) {
	return keychain.Credential(f), nil
}

// Files, charts and graphs are not read from addresses of this link and of metadata services, whether a configuration or a
// redirect names them, by address or by a name that resolves to one. Servers on this machine and of the site are read.
func TestMetadataServicesAreNotRead(t *testing.T) {
	blob, desc := blobOf(10)
	names := map[string]string{
		"metadata.example": "169.254.169.254", "metadata6.example": "fd00:ec2::254", "link.example": "fe80::1", "pods.example": "fd00:ec2::23",
		"mapped.example": "::ffff:169.254.169.254", "site.example": "10.1.2.3", "here.example": "127.0.0.1", "public.example": "203.0.113.7",
	}
	for host, ok := range map[string]bool{
		"169.254.169.254": false, "[fe80::1]": false, "[fd00:ec2::254]": false, "[::ffff:169.254.169.254]": false, "100.100.100.200": false,
		"metadata.example": false, "metadata6.example": false, "link.example": false, "pods.example": false, "mapped.example": false,
		"site.example": true, "here.example": true, "127.0.0.1": true, "public.example": true,
	} {
		for _, redirected := range []bool{false, true} {
			var target string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/moved" {
					http.Redirect(w, r, target, http.StatusFound)
					return
				}
				serve(blob)(w, r)
			}))
			at := &site{addresses: names, listener: s.Listener.Addr()}
			c, err := New(Options{Proxy: http.ProxyURL(nil), CertDirs: []string{}})
			fail.On(t, err)
			c.dial = at.dial
			target = "http://" + host + "/latest"
			address, dialed := target, 1
			if redirected {
				address, dialed = "http://files.example/moved", 2
				names["files.example"] = "10.1.2.3"
				if host == "here.example" || host == "127.0.0.1" {
					names["files.example"] = "127.0.0.1"
				}
			}
			_, sizeErr := c.WebSize(t.Context(), address)
			r, fileErr := c.WebFile(t.Context(), address, desc, 0)
			if fileErr == nil {
				_, fileErr = io.Copy(io.Discard, r)
				_ = r.Close()
			}
			_, pageErr := c.Get(t.Context(), address, "", 100)
			_, chartErr := c.GetAuthenticated(t.Context(), address, "", 100)
			for what, err := range map[string]error{"size": sizeErr, "file": fileErr, "page": pageErr, "chart": chartErr} {
				if ok != (err == nil) || !ok && !errors.Is(err, ErrRefused) {
					t.Errorf("%s of %s, redirected %t: %v", what, host, redirected, err)
				}
			}
			at.mu.Lock()
			if got := slices.Compact(slices.Sorted(slices.Values(at.dialed))); !ok && len(got) != dialed-1 {
				t.Errorf("%s, redirected %t: dialed %v", host, redirected, got)
			}
			at.mu.Unlock()
			c.Close()
			s.Close()
		}
	}
}
