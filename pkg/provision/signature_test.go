package provision

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// The examples of AWS: ListUsers of IAM, in the AWS General Reference, and GET Object, in the Amazon S3 API
// Reference (Authenticating Requests: Using the Authorization Header).
func TestSign(t *testing.T) {
	t.Parallel()
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, c := range []struct {
		url, service, at, id, secret string
		header                       http.Header
		signed, signature            string
	}{
		{
			"https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08", "iam", "20150830T123600Z", "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
			http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}},
			"content-type;host;x-amz-date", "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7",
		},
		{
			"https://examplebucket.s3.amazonaws.com/test.txt", "s3", "20130524T000000Z", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
			http.Header{"Range": {"bytes=0-9"}, "X-Amz-Content-Sha256": {empty}},
			"host;range;x-amz-content-sha256;x-amz-date", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		},
	} {
		u, err := url.Parse(c.url)
		fail.On(t, err)
		at, err := time.Parse("20060102T150405Z", c.at)
		fail.On(t, err)
		sign(c.header, signing{method: http.MethodGet, url: u, payload: empty, region: "us-east-1", service: c.service, at: at, keys: keychain.Credential{Username: c.id, Password: c.secret}})
		want := "AWS4-HMAC-SHA256 Credential=" + c.id + "/" + c.at[:8] + "/us-east-1/" + c.service + "/aws4_request, SignedHeaders=" + c.signed + ", Signature=" + c.signature
		if got := c.header.Get("Authorization"); got != want {
			t.Errorf("%s\n got %s\nwant %s", c.url, got, want)
		}
	}
}

func TestParseProfile(t *testing.T) {
	t.Parallel()
	const text = "# keys\n[default]\naws_access_key_id = A\naws_secret_access_key=S=1\n\n[ci]\nregion=eu\nAWS_ACCESS_KEY_ID=B\n; aws_secret_access_key=no\naws_secret_access_key=T\naws_session_token = U\n"
	if c := parseProfile(text, "default"); c.Username != "A" || c.Password != "S=1" || c.RegistryToken != "" {
		t.Errorf("default: %q %q %q", c.Username, c.Password, c.RegistryToken)
	}
	if c := parseProfile(text, "ci"); c.Username != "B" || c.Password != "T" || c.RegistryToken != "U" {
		t.Errorf("ci: %q %q %q", c.Username, c.Password, c.RegistryToken)
	}
	if c := parseProfile(text, "other"); !c.Anonymous() {
		t.Errorf("other: %v", c)
	}
}

func TestParseECR(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	for host, endpoint := range map[string]string{
		"123456789012.dkr.ecr.eu-central-1.amazonaws.com":       "https://api.ecr.eu-central-1.amazonaws.com",
		"123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn":      "https://api.ecr.cn-north-1.amazonaws.com.cn",
		"123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com": "https://ecr-fips.us-gov-west-1.amazonaws.com",
		"123456789012.dkr-ecr.us-east-1.on.aws":                 "https://ecr.us-east-1.api.aws",
		"12345678901.dkr.ecr.eu-central-1.amazonaws.com":        "",
		"123456789012.dkr.ecr.amazonaws.com":                    "",
		"123456789012.dkr.ecr.x.example.amazonaws.com":          "",
		"123456789012.dkr.ecr.eu-central-1.amazonaws.com.evil":  "",
		"public.ecr.aws": "",
		"quay.io":        "",
		"123456789012.dkr.ecr.eu-central-1.amazonaws.com:443":   "",
		strings.ToUpper("123456789012.dkr.ecr.a.amazonaws.com"): "",
	} {
		r, ok := parseECR(host, none)
		if ok != (endpoint != "") || r.endpoint != endpoint {
			t.Errorf("%s: %+v %v, want %q", host, r, ok, endpoint)
		}
	}
	r, _ := parseECR("123456789012.dkr.ecr.eu-central-1.amazonaws.com", func(name string) string {
		return map[string]string{"AWS_ENDPOINT_URL_ECR": "https://vpc.example.com/"}[name]
	})
	if r.endpoint != "https://vpc.example.com" || r.region != "eu-central-1" || r.account != "123456789012" {
		t.Errorf("%+v", r)
	}
}
