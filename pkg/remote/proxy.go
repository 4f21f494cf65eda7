package remote

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/http/httpproxy"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// proxyHost is what a proxy's host name may consist of: letters of any alphabet, because names may
// be internationalized.
var proxyHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\p{L}\p{N}_]([\p{L}\p{N}._-]*[\p{L}\p{N}_.])?$`)
})

// ProxyFromEnvironment returns the proxy of each request as the variables HTTPS_PROXY, HTTP_PROXY and
// NO_PROXY say, or their names in lower case. A variable that is not the URL of a proxy is an error of
// kind advice.Input: net/http would ignore some of these and connect directly, and mistake a part of
// the password in others for the host. The error does not contain the value.
func ProxyFromEnvironment(getenv func(string) string) (func(*http.Request) (*url.URL, error), error) {
	first := func(names ...string) (name, value string) {
		for _, name := range names {
			if value := getenv(name); value != "" {
				return name, value
			}
		}
		return "", ""
	}
	c := httpproxy.Config{CGI: getenv("REQUEST_METHOD") != ""}
	for _, v := range []struct {
		names []string
		to    *string
	}{{[]string{"HTTPS_PROXY", "https_proxy"}, &c.HTTPSProxy}, {[]string{"HTTP_PROXY", "http_proxy"}, &c.HTTPProxy}} {
		name, value := first(v.names...)
		if name == "" {
			continue
		}
		u, err := parseProxy(value)
		if err != nil {
			return nil, advice.New(advice.Input,
				"write it as http://HOST:PORT, if needed with user, colon, password and @ before HOST, and with special characters of the two percent-encoded, such as %23 for # and %25 for %",
				"%s is not the URL of a proxy: %w", name, err)
		}
		*v.to = u.String()
	}
	_, c.NoProxy = first("NO_PROXY", "no_proxy")
	find := c.ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return find(r.URL) }, nil
}

// parseProxy parses the URL of a proxy; "http://" may be missing. Its errors show nothing of it.
func parseProxy(value string) (*url.URL, error) {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	u, err := url.Parse(value)
	var port string
	if err == nil {
		port = u.Port()
	}
	switch {
	case err != nil:
		// The cause shows the value, with the password.
		return nil, errors.New("it cannot be parsed")
	case !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme):
		return nil, errors.New("its scheme is not http, https, socks5 or socks5h")
	case u.Host == "" || !validProxyHost(u.Hostname()):
		return nil, errors.New("its host name is missing or invalid")
	case port == "" && strings.HasSuffix(u.Host, ":"), port != "" && !validPort(port):
		return nil, errors.New("its port is not a number from 1 to 65535")
	case u.Path != "" && u.Path != "/", strings.ContainsAny(value, "?#"):
		return nil, errors.New("text follows the host name and port")
	}
	return u, nil
}

func validProxyHost(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return proxyHost().MatchString(name)
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// proxyAddress returns a proxy without user and password, for messages.
func proxyAddress(proxy *url.URL) string {
	return proxy.Scheme + "://" + proxy.Host
}
