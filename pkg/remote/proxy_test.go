package remote_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// environ returns a getenv of the variables given as name and value.
func environ(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestProxyFromEnvironment(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		env       []string
		url, want string
	}{
		{url: "https://quay.io/v2/"},
		{env: []string{"HTTPS_PROXY", "http://proxy.example:3128"}, url: "https://quay.io/v2/", want: "http://proxy.example:3128"},
		{env: []string{"HTTPS_PROXY", "http://proxy.example:3128"}, url: "http://quay.io/v2/"},
		{env: []string{"https_proxy", "proxy.example:3128"}, url: "https://quay.io/v2/", want: "http://proxy.example:3128"},
		{env: []string{"HTTPS_PROXY", "https://a.example/", "https_proxy", "http://b.example"}, url: "https://quay.io/v2/", want: "https://a.example/"},
		{env: []string{"HTTPS_PROXY", "http://proxy.example:3128", "NO_PROXY", "quay.io"}, url: "https://quay.io/v2/"},
		{env: []string{"HTTPS_PROXY", "http://proxy.example:3128", "no_proxy", ".other.example"}, url: "https://quay.io/v2/", want: "http://proxy.example:3128"},
		{env: []string{"HTTPS_PROXY", "http://proxy.example:3128"}, url: "https://127.0.0.1:5000/v2/"},
		{env: []string{"HTTP_PROXY", "user:p%23w@proxy_1.example:3128"}, url: "http://quay.io/v2/", want: "http://user:p%23w@proxy_1.example:3128"},
		{env: []string{"HTTPS_PROXY", "socks5h://[2001:db8::1]:1080"}, url: "https://quay.io/v2/", want: "socks5h://[2001:db8::1]:1080"},
		{env: []string{"HTTPS_PROXY", "http://u:p@w@10.0.0.1:8080"}, url: "https://quay.io/v2/", want: "http://u:p%40w@10.0.0.1:8080"},
	} {
		find, err := remote.ProxyFromEnvironment(environ(tc.env...))
		if err != nil {
			t.Errorf("%q: %v", tc.env, err)
			continue
		}
		u, err := find(&http.Request{URL: mustURL(t, tc.url)})
		got := ""
		if u != nil {
			got = u.String()
		}
		if got != tc.want || err != nil {
			t.Errorf("%q: the proxy of %s is %q, %v; want %q", tc.env, tc.url, got, err, tc.want)
		}
	}
}

// TestProxyRefused checks that a value that is not the URL of a proxy is an error that does not
// contain it, and that no client is made.
func TestProxyRefused(t *testing.T) {
	for _, value := range []string{
		"http://user:hunter2#x@proxy.example:3128", "http://user:12#hunter2@proxy.example:3128",
		"http://user:hunter2/x@proxy.example:3128", "http://user:12/hunter2@proxy.example:3128",
		"http://user:12?hunter2@proxy.example:3128", "user:12/hunter2@proxy.example:3128",
		"http://user:hunter2^x@proxy.example:3128", "http://user:hunter2[x@proxy.example:3128",
		"http://user:hunter2 x@proxy.example:3128", `http://user:hunter2\x@proxy.example:3128`,
		"http://user:hunter2%x@proxy.example:3128", "http://user:hunter2%@proxy.example:3128",
		"http://user:hunter2\n@proxy.example:3128", "http://user:hunter2@proxy.example:port",
		"http://user:hunter2@proxy.example:70000", "http://user:hunter2@proxy.example:0", "http://user:hunter2@proxy.example:",
		"http://user:hunter2@", "http://user:hunter2@:3128", "http://user:hunter2@proxy.example:3128/hunter2",
		"http://user:hunter2@proxy!example:3128", "ftp://user:hunter2@proxy.example", "hunter2://proxy.example", "//hunter2", " hunter2:80",
		"http://http://user:hunter2@proxy.example",
	} {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
			_, err := remote.ProxyFromEnvironment(environ(name, value))
			if advice.KindOf(err) != advice.Input || !strings.HasPrefix(err.Error(), name+" is not the URL of a proxy: ") {
				t.Errorf("%s=%q: %v", name, value, err)
			}
			if text := advice.Text(err); strings.Contains(text, "hunter2") {
				t.Errorf("%s=%q: the error shows it: %s", name, value, text)
			}
		}
	}
	t.Setenv("HTTPS_PROXY", "http://user:hunter2%@proxy.example:3128")
	if _, err := remote.New(remote.Options{CertDirs: []string{}}); advice.KindOf(err) != advice.Input {
		t.Errorf("New with a malformed HTTPS_PROXY: %v", err)
	}
}
