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
	"strings"
	"sync"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
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
			if err != nil {
				t.Fatal(err)
			}
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
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		"cdn.example": true, "198.51.100.9": true, "10.1.1.1": false, "127.0.0.1": false, "[::1]": false, "localhost": false, "169.254.169.254": false,
		"127.1": false, "2852039166": false, "0xa9fea9fe": false, "0177.0.0.01": false, "[::ffff:169.254.169.254]": false,
	} {
		c, err := New(Options{PlainHTTP: true, Proxy: http.ProxyURL(through), CertDirs: []string{}})
		if err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
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
