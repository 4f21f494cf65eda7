package registryserver_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/httpserver/registryserver"
)

func hash(t testing.TB, password string, cost int) string {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), cost)
	fail.On(t, err)
	return string(h)
}

func basic(name, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
}

// guarded returns a site that requires the password of a user in file.
func guarded(t testing.TB, file string) *site {
	t.Helper()
	users, err := registryserver.ParseUsers(strings.NewReader(file))
	fail.On(t, err)
	log := &logged{}
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inside") })
	server := httptest.NewServer(users.Guard(slog.New(slog.NewTextHandler(log, nil)), inside))
	t.Cleanup(server.Close)
	return &site{url: server.URL, log: log}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	// htpasswd writes $2y$, Go and most other programs $2a$, some $2b$. All are the same hash.
	s := guarded(t, "# who may pull\n\nann:"+strings.Replace(hash(t, "open sesame", 4), "$2a$", "$2y$", 1)+"\r\n"+
		"bob:"+hash(t, "päss:wörd", 5)+"\n")
	for range 3 { // the second request finds the result in the cache
		s.ask(t, "GET", "/v2/", "Authorization", basic("ann", "open sesame")).want(t, http.StatusOK, "")
		s.ask(t, "GET", "/v2/", "Authorization", basic("bob", "päss:wörd")).want(t, http.StatusOK, "")
		for _, wrong := range []string{
			basic("ann", "open sesamE"), basic("ann", ""), basic("ann", "päss:wörd"), basic("bob", "open sesame"), basic("hunter2", "open sesame"),
			basic("", ""), basic("ann", strings.Repeat("x", 5000)), "Bearer abc", "Basic ???", "Basic",
			basic("ann:open", " sesame"), basic("a", "nnopen sesame"),
		} {
			s.ask(t, "GET", "/v2/", "Authorization", wrong).want(t, http.StatusUnauthorized, "UNAUTHORIZED",
				"Www-Authenticate", `Basic realm="gantry", charset="UTF-8"`, "Docker-Distribution-Api-Version", "registry/2.0")
		}
		s.ask(t, "GET", "/v2/").want(t, http.StatusUnauthorized, "UNAUTHORIZED")
		s.ask(t, "PUT", "/v2/app/manifests/v1").want(t, http.StatusUnauthorized, "UNAUTHORIZED")
	}
	log := s.log.String()
	for _, secret := range []string{"sesame", "päss", "hunter2", "$2", "xxx", base64.StdEncoding.EncodeToString([]byte("ann:"))[:4]} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q:\n%s", secret, log)
		}
	}
	for _, word := range []string{"user=ann", "user=bob", "user=unknown", "from=127.0.0.1:"} {
		if !strings.Contains(log, word) {
			t.Errorf("the log lacks %q:\n%s", word, log)
		}
	}
	// All clients send their first request without a password. This is not a failed attempt.
	if n := strings.Count(log, "wrong name or password"); n != 3*9 {
		t.Errorf("%d attempts were logged, want %d:\n%s", n, 3*9, log)
	}
}

// TestUsersTakeAsLong checks that an unknown user name takes as long as a wrong password, and that
// a correct password is hashed only once.
func TestUsersTakeAsLong(t *testing.T) {
	t.Parallel()
	s := guarded(t, "ann:"+hash(t, "right", 10)+"\n")
	took := func(name, password string, status int) time.Duration {
		begin := time.Now()
		s.ask(t, "GET", "/v2/", "Authorization", basic(name, password)).want(t, status, "")
		return time.Since(begin)
	}
	wrong, nobody := took("ann", "wrong", http.StatusUnauthorized), took("eve", "wrong", http.StatusUnauthorized)
	if nobody < wrong/4 { // the machine may be busy
		t.Errorf("an unknown user takes %v, a wrong password %v", nobody, wrong)
	}
	first := took("ann", "right", http.StatusOK)
	var wait sync.WaitGroup
	begin := time.Now()
	for range 50 {
		wait.Go(func() { took("ann", "right", http.StatusOK) })
	}
	wait.Wait()
	if all := time.Since(begin); all > 10*first {
		t.Errorf("50 requests with the right password take %v, the first took %v", all, first)
	}
}

func TestParseUsersRefuses(t *testing.T) {
	t.Parallel()
	good := hash(t, "secret", 4)
	for file, want := range map[string]string{
		"":             "names no user",
		"# nobody\n\n": "names no user",
		"ann\n":        "line 1 is not NAME:HASH",
		":" + good:     "line 1 is not NAME:HASH",
		"ann:" + good + "\nbob:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n": "line 2 has no bcrypt hash; create it with htpasswd -B",
		"ann:$apr1$abc$0123456789":                                  "line 1 has no bcrypt hash",
		"ann:secret":                                                "line 1 has no bcrypt hash",
		"ann:" + good[:30]:                                          "line 1 has no bcrypt hash",
		"ann:" + good + "x":                                         "line 1 has no bcrypt hash",
		"ann:" + good + "\nann:" + good:                             "line 2 repeats the user of an earlier line",
		"ann:" + strings.Replace(good, "$04$", "$31$", 1):           "line 1 has a hash of cost 31",
		strings.Repeat("# a long file\n", 100_000):                  "more than 1048576 bytes",
		"ann:" + good + "\n" + strings.Repeat("x", 100_000):         "token too long",
	} {
		_, err := registryserver.ParseUsers(strings.NewReader(file))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", file, err, want)
			continue
		}
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), good[10:]) {
			t.Errorf("the error shows the file: %v", err)
		}
	}
}
