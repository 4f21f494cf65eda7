package gate

import (
	"net/url"
	"slices"
	"strings"
)

// passed are the variables that a program gets, and prefixes the beginnings of the names of others. They tell where
// its files, certificates and temporary files are. Their values are no credentials.
var (
	passed = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "TEMP", "TMP", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "SYSTEMROOT", "WINDIR", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "COMSPEC", "PATHEXT", "NO_PROXY",
	}
	prefixes = []string{"LC_", "XDG_"}
	proxies  = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
)

// Environment returns the part of an environment that programs get. Proxies are part of it unless their address has
// a password.
func Environment(environ []string) []string {
	var kept []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		upper := strings.ToUpper(name)
		switch {
		case slices.Contains(passed, upper),
			slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(upper, prefix) }),
			slices.Contains(proxies, upper) && !hasUser(value):
			kept = append(kept, variable)
		}
	}
	return kept
}

// hasUser reports whether an address may have a user or a password.
func hasUser(address string) bool {
	if strings.Contains(address, "@") {
		return true
	}
	u, err := url.Parse(address)
	return err != nil || u.User != nil
}
