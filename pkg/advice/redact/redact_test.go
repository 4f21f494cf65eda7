package redact

import (
	"strings"
	"testing"
)

const sum = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "quay.io/org/name:v1": "quay.io/org/name:v1", "127.0.0.1:5000/a@" + sum: "127.0.0.1:5000/a@" + sum,
		"quay.io/org/name:v1@" + sum:            "quay.io/org/name:v1@" + sum,
		"docker://mirror.example:5000/ocp":      "docker://mirror.example:5000/ocp",
		"docker://[::1]:5000/ocp":               "docker://[::1]:5000/ocp",
		"quay.io/org/name@v1":                   "quay.io/org/name@v1",
		"file:///mnt/disk@1/x?y#z":              "file:///mnt/disk@1/x?y#z",
		"file://disk@1/x":                       "file://disk@1/x",
		"user:s3cret@quay.io/a:v1":              "[redacted]@quay.io/a:v1",
		"user:s3cret@quay.io/a:v1@" + sum:       "[redacted]@quay.io/a:v1@" + sum,
		"s3cret@quay.io/a":                      "[redacted]@quay.io/a",
		"s3cret@quay.io":                        "[redacted]@quay.io",
		"user:s3cret@":                          "[redacted]@",
		"docker://user:s3cret@quay.io/a":        "docker://[redacted]@quay.io/a",
		"docker://s3cret@quay.io":               "docker://[redacted]@quay.io",
		"docker://user:s3 cret@quay.io":         "docker://[redacted]@quay.io",
		"docker://user:12/s3cret@quay.io/a":     "docker://[redacted]@quay.io/a",
		"docker://user:12/s3@cret@quay.io/a":    "docker://[redacted]@quay.io/a",
		"docker://user:s3cret#x@quay.io/a":      "docker://[redacted]",
		"docker:////user:s3cret@quay.io/a":      "docker:////[redacted]@quay.io/a",
		"//user:s3cret@quay.io/a":               "//[redacted]@quay.io/a",
		"http://http://user:s3cret@quay.io/a":   "http://[redacted]@quay.io/a",
		"https://quay.io/a?token=s3cret":        "https://quay.io/a?[redacted]",
		"https://quay.io/a?s3cret":              "https://quay.io/a?[redacted]",
		"https://quay.io:443/a?x=s3cret@s3cret": "https://[redacted]",
		"https://quay.io/a#token=s3cret":        "https://quay.io/a#[redacted]",
		"file://user:s3cret@quay.io/x":          "file://[redacted]@quay.io/x",
		"user:12x://3/s3cret@quay.io/a":         "[redacted]@quay.io/a",
		"quay.io/https://user:s3cret@quay.io/a": "quay.io/https://[redacted]@quay.io/a",
	} {
		if got := Address(in); got != want {
			t.Errorf("Address(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, same := range []string{
		"", "signed by alice@example.com, bob@example.com: valid", "Red Hat, Inc. (release key 2) <security@redhat.com>",
		"reading quay.io/org/name:v1@" + sum + ": not found", "127.0.0.1:5000/a@" + sum,
		"write host/path:tag or host/path@sha256:...", "see https://issues.example.com/browse/X-1?id=5&tab=2#c", "a?b=c x=1 key=value",
		"--volume-size=4GiB", `"(?i)foo@bar"`, "at 10:30 @ host",
	} {
		if got := Text(same); got != same {
			t.Errorf("Text(%q) = %q", same, got)
		}
	}
	for in, want := range map[string]string{
		`destination "docker://user:s3cret@quay.io/a" is unknown`:          `destination "docker://[redacted]@quay.io/a" is unknown`,
		"open https://user:s3cret@quay.io/a: no such file":                 "open https://[redacted]@quay.io/a: no such file",
		"open user:s3cret@quay.io: no such file":                           "open [redacted]@quay.io: no such file",
		"open s3cret@quay.io/a: no such file":                              "open [redacted]@quay.io/a: no such file",
		"a,https://quay.io/b,https://u:s3cret@quay.io/a":                   "a,https://quay.io/b,https://[redacted]@quay.io/a",
		"get https://quay.io/a?x=1&access_token=s3cret&y=2: refused":       "get https://quay.io/a?x=1&[redacted] refused",
		"quay.io/a?X-Amz-Signature=s3cret and https://u:s3cret@quay.io\nx": "quay.io/a?[redacted] and https://[redacted]@quay.io\nx",
		"quay.io/a:v1#token=s3cret":                                        "quay.io/a:v1#[redacted]",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzAddress checks that no password and no query of an address is shown, and that both functions
// change nothing in what they return.
func FuzzAddress(f *testing.F) {
	f.Add("user", "pa", "ss", "quay.io/a")
	f.Add("u", "1/#?", "", "h@x")
	f.Fuzz(func(t *testing.T, user, password, more, host string) {
		const secret = "S\u2603CRET"
		if !strings.ContainsAny(user, "/:@") && !strings.Contains(host, "@") {
			for _, scheme := range []string{"", "docker://", "https://", "file://"} {
				if scheme == "" && (strings.Contains(user, "//") || strings.HasPrefix(password+secret+more, "//")) {
					continue // then, the user is a scheme
				}
				checkAddress(t, scheme+user+":"+password+secret+more+"@"+host, secret)
			}
		}
		checkAddress(t, "https://"+host+"/?"+password+secret+more, secret)
		if once := Text(password); Text(once) != once {
			t.Errorf("Text(%q) = %q, then %q", password, once, Text(once))
		}
	})
}

func checkAddress(t *testing.T, address, secret string) {
	t.Helper()
	got := Address(address)
	if strings.Contains(got, secret) {
		t.Errorf("Address(%q) = %q", address, got)
	}
	if again := Address(got); again != got {
		t.Errorf("Address(%q) = %q, then %q", address, got, again)
	}
}
