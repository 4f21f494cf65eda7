package sshsig

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// east is a time zone for tests.
var east = time.FixedZone("east", 2*60*60)

// TestAllowedSigners checks that lines are read as ssh-keygen reads them.
func TestAllowedSigners(t *testing.T) {
	t.Parallel()
	file, public := writeKey(t, makeKey(t, "ed25519"), "")
	armored := sign(t, open(t, file, KeyOptions{}), "content")
	key := strings.TrimSpace(string(public))
	noon := time.Date(2026, 5, 10, 12, 0, 0, 0, east)
	for name, tc := range map[string]struct {
		text, principal, want string
	}{
		"plain":                   {"ops@example.com " + key, "ops@example.com", ""},
		"with a comment":          {"ops@example.com " + key + " a b c", "ops@example.com", ""},
		"anybody":                 {"ops@example.com " + key, "", ""},
		"tabs":                    {"\tops@example.com\t " + key, "ops@example.com", ""},
		"comments and blanks":     {"# these\n\n   # are\nops@example.com " + key + "\n", "ops@example.com", ""},
		"Windows lines":           {"# these\r\nops@example.com " + key + "\r\n", "ops@example.com", ""},
		"list":                    {"a@b,ops@example.com " + key, "ops@example.com", ""},
		"pattern":                 {"*@example.com " + key, "ops@example.com", ""},
		"pattern of one":          {"op?@example.com " + key, "ops@example.com", ""},
		"pattern of another":      {"*@example.org " + key, "ops@example.com", `not to "ops@example.com"`},
		"not this one":            {"!ops@example.com,*@example.com " + key, "ops@example.com", "not to"},
		"not another":             {"!dev@example.com,*@example.com " + key, "ops@example.com", ""},
		"case counts":             {"OPS@example.com " + key, "ops@example.com", "not to"},
		"quoted":                  {`"ops@example.com" ` + key, "ops@example.com", ""},
		"a second line":           {"dev@example.com " + key + "\nops@example.com " + key, "ops@example.com", ""},
		"not listed":              {"ops@example.com " + edKey, "ops@example.com", "it is not a trusted key"},
		"namespace":               {`ops@example.com namespaces="gantry" ` + key, "ops@example.com", ""},
		"namespaces":              {`ops@example.com namespaces="git,gan*" ` + key, "ops@example.com", ""},
		"other namespaces":        {`ops@example.com namespaces="git,file" ` + key, "ops@example.com", `not for "gantry"`},
		"not this namespace":      {`ops@example.com namespaces="*,!gantry" ` + key, "ops@example.com", `not for "gantry"`},
		"option in capitals":      {`ops@example.com NAMESPACES="gantry" ` + key, "ops@example.com", ""},
		"authority":               {`ops@example.com cert-authority ` + key, "ops@example.com", "cert-authority"},
		"authority and key":       {"ops@example.com cert-authority " + key + "\nops@example.com " + key, "ops@example.com", ""},
		"authority with bounds":   {`ops@example.com cert-authority,namespaces="gantry" ` + key, "ops@example.com", "cert-authority"},
		"valid":                   {`ops@example.com valid-after="20260101",valid-before="20270101" ` + key, "ops@example.com", ""},
		"valid until noon":        {`ops@example.com valid-before="202605101200" ` + key, "ops@example.com", ""},
		"valid from noon on":      {`ops@example.com valid-after="20260510120000" ` + key, "ops@example.com", ""},
		"until a second before":   {`ops@example.com valid-before="20260510115959" ` + key, "ops@example.com", "valid until"},
		"from a second after":     {`ops@example.com valid-after="20260510120001" ` + key, "ops@example.com", "not valid before"},
		"in UTC, not yet":         {`ops@example.com valid-after="202605101200Z" ` + key, "ops@example.com", "not valid before"},
		"in UTC, as well":         {`ops@example.com valid-before="202605101000utc" ` + key, "ops@example.com", ""},
		"later line is valid":     {`ops@example.com valid-before="20250101" ` + key + "\nops@example.com " + key, "ops@example.com", ""},
		"all options":             {`ops@example.com namespaces="gantry",valid-after="20260101Z",valid-before="20270101Z" ` + key, "ops@example.com", ""},
		"quote in a value":        {`ops@example.com namespaces="a\" b,gantry" ` + key, "ops@example.com", ""},
		"unknown option":          {`ops@example.com no-touch-required="x" ` + key, "", "is none of"},
		"unknown flag":            {`ops@example.com cert-authority,verify-required ` + key, "", "any other has one"},
		"flag with a value":       {`ops@example.com cert-authority="x" ` + key, "", "a flag has no value"},
		"no value":                {`ops@example.com cert-authority,namespaces ` + key, "", "any other has one"},
		"empty value":             {`ops@example.com namespaces="" ` + key, "", "is empty"},
		"not quoted":              {`ops@example.com namespaces=gantry ` + key, "", "double quotes"},
		"open quote":              {`ops@example.com namespaces="gantry ` + key, "", "line 1"},
		"text after a value":      {`ops@example.com namespaces="gantry"x ` + key, "", "is followed by"},
		"option twice":            {`ops@example.com namespaces="gantry",namespaces="git" ` + key, "", "twice"},
		"comma at the end":        {`ops@example.com namespaces="gantry", ` + key, "", "line 1"},
		"no time":                 {`ops@example.com valid-after="soon" ` + key, "", "not YYYYMMDD"},
		"an invalid day":          {`ops@example.com valid-after="20260230" ` + key, "", "not YYYYMMDD"},
		"before is after":         {`ops@example.com valid-after="20260101",valid-before="20250101" ` + key, "", "not after"},
		"principals alone":        {"ops@example.com", "", "no key"},
		"a public key":            {key, "", "line 1"},
		"options without a key":   {`ops@example.com namespaces="gantry"`, "", "line 1"},
		"open quote of principal": {`"ops@example.com ` + key, "", "quote does not end"},
		"small RSA":               {"ops@example.com " + smallRSA, "", "1024 bits"},
		"wrong in the third":      {"# a\nops@example.com " + key + "\nops@example.com ssh-ed25519 AAA\n", "", "line 3"},
		"nobody":                  {"# nobody\n", "", "no keys"},
	} {
		signers, err := ParseAllowedSigners([]byte(tc.text), east)
		var who Signer
		if err == nil {
			who, err = signers.Verify(armored, namespace, strings.NewReader("content"), tc.principal, noon)
		}
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if tc.want == "" && who.Principal != "ops@example.com" {
			t.Errorf("%s: signed by %+v", name, who)
		}
		if !strings.Contains(tc.text, "\n") && tc.principal != "" && name != "tabs" {
			sameAsKeygen(t, name, tc.text, string(armored), tc.want == "")
		}
	}
}

// sameAsKeygen compares the result with ssh-keygen's at noon.
func sameAsKeygen(t *testing.T, name, text, armored string, good bool) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		out, err := keygen(t, "content", "-Y", "verify", "-f", write(t, "allowed", []byte(text+"\n")), "-I", "ops@example.com",
			"-n", namespace, "-s", write(t, "sig", []byte(armored)), "-O", "verify-time=20260510100000Z")
		// Times without a zone are in the local zone.
		if local := strings.Contains(text, "valid-") && !strings.Contains(strings.ToLower(text), "z\"") && !strings.Contains(text, "utc"); !local && (err == nil) != good {
			t.Errorf("ssh-keygen says otherwise: %v: %s", err, out)
		}
	})
}

func TestUntrustedNamesTheKey(t *testing.T) {
	t.Parallel()
	file, public := writeKey(t, makeKey(t, "ed25519"), "")
	k := open(t, file, KeyOptions{})
	signers, err := ParseAllowedSigners([]byte("# header\nops@example.com namespaces=\"git\" "+string(public)), time.UTC)
	fail.On(t, err)
	_, err = signers.Verify(sign(t, k, "content"), namespace, strings.NewReader("content"), "", time.Now())
	var untrusted *UntrustedError
	if !errors.As(err, &untrusted) || untrusted.Signer != k.Signer() {
		t.Fatal(err)
	}
	for _, word := range []string{k.Signer().Key, "line 2", "SHA256:"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not say %q", err, word)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text, pattern string
		want          bool
	}{
		{"", "", true}, {"", "*", true}, {"", "?", false}, {"a", "", false}, {"abc", "a*c", true}, {"ac", "a*c", true},
		{"abcd", "a*c", false}, {"abcbc", "a*bc", true}, {"a", "**", true}, {"abc", "???", true}, {"abc", "??", false},
		{"a[b", "a[b", true}, {"*", "a", false}, {strings.Repeat("a", 1000), strings.Repeat("*a", 50) + "b", false},
	} {
		if got := match(tc.text, tc.pattern); got != tc.want {
			t.Errorf("match(%q, %q) = %v", tc.text, tc.pattern, got)
		}
	}
}
