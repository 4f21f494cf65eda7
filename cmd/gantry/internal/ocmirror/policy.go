package ocmirror

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/regular"
)

// maxPolicy is the maximum size of a trust policy, in bytes.
const maxPolicy = 1 << 20

// ReadPolicy reads the file of a trust policy.
func ReadPolicy(name string) ([]byte, error) {
	f, err := regular.OpenInput(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, maxPolicy+1))
	if err == nil && len(text) > maxPolicy {
		err = fmt.Errorf("%s has more than %d bytes", name, maxPolicy)
	}
	return text, err
}

// verification refuses to verify the signatures of images, unless that would accept every image.
func (l *line) verification() error {
	flag := "secure-policy"
	if truth(l.value("enable-operator-secure-policy")) {
		flag = "enable-operator-secure-policy"
	} else if !truth(l.value(flag)) {
		return nil
	}
	if l.value("from") != "" {
		l.noEffect(flag, "signatures are verified where images are read from registries, not with --from")
		return nil
	}
	file, accepts, err := l.policy()
	switch {
	case err != nil:
		return err
	case accepts:
		l.noEffect(flag, file+" accepts every image")
		return nil
	}
	return refuse("leave it out if that is sufficient; only the signatures of platform releases are verified, with the vendor's keys or those of --release-key",
		"--%s: Gantry does not verify the signatures of images, as %s requires", flag, file)
}

// policy returns the file with the trust policy, and whether it accepts every image.
func (l *line) policy() (file string, accepts bool, err error) {
	files := []string{l.value("policy")}
	if files[0] == "" {
		files = []string{filepath.Join(l.getenv("HOME"), ".config", "containers", "policy.json"), "/etc/containers/policy.json"}
	}
	for _, file := range files {
		if l.ReadFile == nil {
			break
		}
		text, err := l.ReadFile(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(files) > 1:
			continue
		case err != nil:
			return "", false, refuse("check the path", "--policy: %w", err)
		}
		accepts, err := acceptsAll(text)
		if err != nil {
			return "", false, refuse("fix the file", "%s: %w", file, err)
		}
		return file, accepts, nil
	}
	return "the flag", false, nil
}

func (l *line) getenv(name string) string {
	if l.Getenv == nil {
		return ""
	}
	return l.Getenv(name)
}

// acceptsAll reports whether a trust policy (containers-policy.json) accepts every image.
func acceptsAll(text []byte) (bool, error) {
	type requirements []struct {
		Type string `json:"type"`
	}
	var policy struct {
		Default    requirements                       `json:"default"`
		Transports map[string]map[string]requirements `json:"transports"`
	}
	if err := json.Unmarshal(text, &policy); err != nil {
		return false, fmt.Errorf("reading the trust policy: %w", err)
	}
	scopes := []requirements{policy.Default}
	for _, transport := range policy.Transports {
		for _, scope := range transport {
			scopes = append(scopes, scope)
		}
	}
	for _, scope := range scopes {
		if len(scope) == 0 {
			return false, nil
		}
		for _, r := range scope {
			if r.Type != "insecureAcceptAnything" {
				return false, nil
			}
		}
	}
	return true, nil
}
