package registryserver

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

const (
	// maxUsers is how long a file of users may be, in bytes.
	maxUsers = 1 << 20
	// maxCost is the highest cost of bcrypt that is taken: about four seconds a try.
	maxCost = 16
	// hashSize is how long a hash of bcrypt is: "$2b$10$" and 53 letters.
	hashSize = 60
)

// Users are names and passwords, and a watch at the door: what was found right
// once is known again without the costly comparison, which each request of a pull
// would ask for.
type Users struct {
	hashes map[string][]byte
	nobody []byte        // a hash that no password has, as costly as the costliest
	tries  chan struct{} // at a time
	key    [sha256.Size]byte

	mu    sync.Mutex
	right map[string][sha256.Size]byte // of name and password, with key
}

// ParseUsers reads a htpasswd file: a line "NAME:HASH" for each user, with hashes
// of bcrypt ("htpasswd -B"). Empty lines and those that begin with # are passed
// over. Errors name the line, and nothing that stands in it.
func ParseUsers(file io.Reader) (*Users, error) {
	u := &Users{hashes: map[string][]byte{}, tries: make(chan struct{}, runtime.GOMAXPROCS(0)), right: map[string][sha256.Size]byte{}}
	limited := &io.LimitedReader{R: file, N: maxUsers + 1}
	lines := bufio.NewScanner(limited)
	cost := bcrypt.MinCost
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, hash, ok := strings.Cut(line, ":")
		c, err := bcrypt.Cost([]byte(hash))
		switch {
		case !ok || name == "":
			return nil, fmt.Errorf("line %d is not NAME:HASH", n)
		case err != nil || len(hash) != hashSize:
			return nil, fmt.Errorf("line %d has no hash of bcrypt: make it with htpasswd -B", n)
		case c > maxCost:
			return nil, fmt.Errorf("line %d has a hash of cost %d, more than the %d that are allowed: make it with htpasswd -B -C 10", n, c, maxCost)
		case u.hashes[name] != nil:
			return nil, fmt.Errorf("line %d is for a user that an earlier line is for, too", n)
		}
		u.hashes[name], cost = []byte(hash), max(cost, c)
	}
	switch {
	case lines.Err() != nil:
		return nil, lines.Err()
	case limited.N == 0:
		return nil, fmt.Errorf("it has more than %d bytes", maxUsers)
	case len(u.hashes) == 0:
		return nil, errors.New("it names no user: make one with htpasswd -B")
	}
	_, _ = rand.Read(u.key[:]) // never fails
	var err error
	if u.nobody, err = bcrypt.GenerateFromPassword([]byte(rand.Text()), cost); err != nil {
		return nil, err
	}
	return u, nil
}

// Guard lets requests through that have the name and password of a user. Others
// are told to send them, after the same time whether there is such a user or not.
// A failed try is logged, without the password, and with the name only where it
// is a user's: what is typed there may be a password.
func (u *Users) Guard(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, given := r.BasicAuth()
		if given && u.known(r, name, password) {
			next.ServeHTTP(w, r)
			return
		}
		if given && r.Context().Err() == nil {
			who := "unknown"
			if u.hashes[name] != nil {
				who = name
			}
			log.Warn("a wrong name or password was refused", "user", who, "from", r.RemoteAddr)
		}
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Header().Set("WWW-Authenticate", `Basic realm="gantry", charset="UTF-8"`)
		(&refusal{http.StatusUnauthorized, codeUnauthorized, "this registry asks for a name and a password"}).write(w)
	})
}

func (u *Users) known(r *http.Request, name, password string) bool {
	mac := hmac.New(sha256.New, u.key[:])
	fmt.Fprintf(mac, "%d:%s%s", len(name), name, password)
	tried := [sha256.Size]byte(mac.Sum(nil))
	u.mu.Lock()
	right, seen := u.right[name]
	u.mu.Unlock()
	if seen && hmac.Equal(right[:], tried[:]) {
		return true
	}
	// Whoever guesses in many connections keeps the machine no busier than this.
	select {
	case u.tries <- struct{}{}:
		defer func() { <-u.tries }()
	case <-r.Context().Done():
		return false
	}
	hash, user := u.hashes[name]
	if !user {
		hash = u.nobody
	}
	if err := bcrypt.CompareHashAndPassword(hash, []byte(password)); err != nil || !user {
		return false
	}
	u.mu.Lock()
	u.right[name] = tried
	u.mu.Unlock()
	return true
}
