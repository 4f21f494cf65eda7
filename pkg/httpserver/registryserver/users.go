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
	// maxUsers is the largest size of a users file in bytes.
	maxUsers = 1 << 20
	// maxCost is the highest accepted cost of bcrypt: about four seconds per attempt.
	maxCost = 16
	// hashSize is the length of a bcrypt hash: "$2b$10$" and 53 characters.
	hashSize = 60
)

// Users are the names and passwords of users. A password that was correct once is recognized
// without the expensive bcrypt comparison, which each request of a pull would otherwise need.
type Users struct {
	hashes   map[string][]byte
	dummy    []byte        // a hash that matches no password, with the highest cost of all users
	attempts chan struct{} // limits concurrent comparisons
	key      [sha256.Size]byte

	mu       sync.Mutex
	verified map[string][sha256.Size]byte // HMAC of name and password, with key
}

// ParseUsers reads an htpasswd file: a line "NAME:HASH" for each user, with bcrypt hashes
// ("htpasswd -B"). Empty lines and lines that begin with # are ignored. Errors name the line, but
// nothing from its content.
func ParseUsers(file io.Reader) (*Users, error) {
	u := &Users{hashes: map[string][]byte{}, attempts: make(chan struct{}, runtime.GOMAXPROCS(0)), verified: map[string][sha256.Size]byte{}}
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
			return nil, fmt.Errorf("line %d has no bcrypt hash; create it with htpasswd -B", n)
		case c > maxCost:
			return nil, fmt.Errorf("line %d has a hash of cost %d, the limit is %d; create it with htpasswd -B -C 10", n, c, maxCost)
		case u.hashes[name] != nil:
			return nil, fmt.Errorf("line %d repeats the user of an earlier line", n)
		}
		u.hashes[name], cost = []byte(hash), max(cost, c)
	}
	switch {
	case lines.Err() != nil:
		return nil, lines.Err()
	case limited.N == 0:
		return nil, fmt.Errorf("the file has more than %d bytes", maxUsers)
	case len(u.hashes) == 0:
		return nil, errors.New("the file names no user; add one with htpasswd -B")
	}
	_, _ = rand.Read(u.key[:]) // never fails
	var err error
	if u.dummy, err = bcrypt.GenerateFromPassword([]byte(rand.Text()), cost); err != nil {
		return nil, err
	}
	return u, nil
}

// Guard passes requests with the name and password of a user to next. Others are asked for
// credentials, after the same time whether the user exists or not. A failed attempt is logged
// without the password, and with the name only if it belongs to a user: people type passwords into
// the name field.
func (u *Users) Guard(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, given := r.BasicAuth()
		if given && u.verify(r, name, password) {
			next.ServeHTTP(w, r)
			return
		}
		if given && r.Context().Err() == nil {
			who := "unknown"
			if u.hashes[name] != nil {
				who = name
			}
			log.Warn("wrong name or password", "user", who, "from", r.RemoteAddr)
		}
		w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
		w.Header().Set("WWW-Authenticate", `Basic realm="gantry", charset="UTF-8"`)
		(&registryError{http.StatusUnauthorized, codeUnauthorized, "authentication required"}).write(w)
	})
}

func (u *Users) verify(r *http.Request, name, password string) bool {
	mac := hmac.New(sha256.New, u.key[:])
	fmt.Fprintf(mac, "%d:%s%s", len(name), name, password)
	tried := [sha256.Size]byte(mac.Sum(nil))
	u.mu.Lock()
	right, seen := u.verified[name]
	u.mu.Unlock()
	if seen && hmac.Equal(right[:], tried[:]) {
		return true
	}
	// Clients that guess passwords over many connections cannot load the machine more than this.
	select {
	case u.attempts <- struct{}{}:
		defer func() { <-u.attempts }()
	case <-r.Context().Done():
		return false
	}
	hash, user := u.hashes[name]
	if !user {
		hash = u.dummy
	}
	if err := bcrypt.CompareHashAndPassword(hash, []byte(password)); err != nil || !user {
		return false
	}
	u.mu.Lock()
	u.verified[name] = tried
	u.mu.Unlock()
	return true
}
