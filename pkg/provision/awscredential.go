package provision

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/remote/keychain"
)

// maxCredentials is the maximum length of a file with AWS credentials.
const maxCredentials = 1 << 20

// awsHint is how to provide credentials that neither the environment nor the file has.
const awsHint = `set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, as eval "$(aws configure export-credentials --format env)" does, or set Options.Print and run the commands`

// awsCredential returns the AWS credentials of the environment, or of the profile AWS_PROFILE of the shared
// credentials file, as a user name, a password and, for a session token, a registry token.
//
// Source: Environment variables, and Shared config and credentials files, in the AWS SDKs and Tools Reference
// Guide. Roles, single sign-on and programs are not supported.
func awsCredential(getenv func(string) string, home string) (keychain.Credential, error) {
	if id, secret := getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"); id != "" && secret != "" {
		return keychain.Credential{Username: id, Password: secret, RegistryToken: getenv("AWS_SESSION_TOKEN"), Source: "the environment"}, nil
	}
	file := getenv("AWS_SHARED_CREDENTIALS_FILE")
	if file == "" && home != "" {
		file = filepath.Join(home, ".aws", "credentials")
	}
	profile := cmp.Or(getenv("AWS_PROFILE"), "default")
	raw, _, err := regular.ReadPath(file, maxCredentials)
	switch {
	case file == "" || errors.Is(err, fs.ErrNotExist):
		return keychain.Credential{}, advice.New(advice.Unauthorized, awsHint, "no AWS credentials were found in the environment or in %s", cmp.Or(file, "~/.aws/credentials"))
	case err != nil:
		return keychain.Credential{}, advice.Wrap(advice.Unauthorized, err, awsHint)
	}
	c := parseProfile(string(raw), profile)
	if c.Username == "" || c.Password == "" {
		return keychain.Credential{}, advice.New(advice.Unauthorized, awsHint, "the profile %q in %s has no access key", profile, file)
	}
	c.Source = file
	return c, nil
}

// parseProfile returns the keys of a profile in the format of the shared credentials file.
func parseProfile(text, profile string) (c keychain.Credential) {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			name, _, _ = strings.Cut(name, "]")
			section = strings.TrimSpace(name)
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || section != profile || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "aws_access_key_id":
			c.Username = value
		case "aws_secret_access_key":
			c.Password = value
		case "aws_session_token":
			c.RegistryToken = value
		}
	}
	return c
}
