package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/gantry-mirror/gantry/pkg/keychain"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/remote"
)

// loginFlags are those of gantry login.
type loginFlags struct {
	authFile      string
	user          string
	passwordStdin bool
	certDir       string
	tlsVerify     bool
	plainHTTP     bool
}

const authFileHelp = "file to keep credentials in (default: $REGISTRY_AUTH_FILE, then where podman keeps them)"

func (a *app) loginCommand() *cobra.Command {
	var f loginFlags
	c := &cobra.Command{
		Use:   "login [-u USER] [--password-stdin] HOST[:PORT][/PATH]",
		Short: "Check the credentials for a registry and keep them",
		Long: `Login shows user name and password to the registry and, where it accepts them,
writes them into the file that gantry, podman, skopeo and oc read:

  --authfile, else $REGISTRY_AUTH_FILE, else
  $XDG_RUNTIME_DIR/containers/auth.json, else ~/.config/containers/auth.json

Whatever else that file holds stays. With a path, the credentials are for the
repositories below it alone; the longest path wins.

The password is read from standard input, or asked for on a terminal. It is never
an argument, where other users of this machine could see it.

` + exitStatusHelp,
		Example: `  gantry login mirror.example.com:5000
  gantry login -u robot --password-stdin quay.io/org < token
  gantry login --authfile auth.json -u robot --password-stdin registry.redhat.io < token`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.login(cmd.Context(), f, args[0], cmd.InOrStdin())
		},
	}
	c.Flags().StringVar(&f.authFile, "authfile", "", authFileHelp)
	c.Flags().StringVarP(&f.user, "username", "u", "", "user name")
	c.Flags().BoolVar(&f.passwordStdin, "password-stdin", false, "read the password from standard input")
	c.Flags().StringVar(&f.certDir, "cert-dir", "", "folder with CAs (*.crt) and client certificates (*.cert, *.key)")
	c.Flags().BoolVar(&f.tlsVerify, "tls-verify", true, "check the registry's certificate; false also allows plain HTTP")
	c.Flags().BoolVar(&f.plainHTTP, "plain-http", false, "speak plain HTTP")
	return c
}

// loginResult is what gantry login --output json prints.
type loginResult struct {
	Version  int    `json:"version"`
	Registry string `json:"registry"`
	User     string `json:"user"`
	File     string `json:"file"`
	// Checked is false where the registry asks for no credentials.
	Checked bool `json:"checked"`
}

func (a *app) login(ctx context.Context, f loginFlags, place string, in io.Reader) error {
	host, path, err := parseRegistry(place)
	if err != nil {
		return err
	}
	file, err := a.keychainOptions(f.authFile).LoginFile()
	if err != nil {
		return &usageError{err}
	}
	cred, err := a.askCredential(f, in)
	if err != nil {
		return err
	}
	client, err := a.loginClient(f, host, cred)
	if err != nil {
		return err
	}
	defer client.Close()
	asked, err := client.Login(ctx, host, path)
	if err != nil {
		return err
	}
	key := strings.TrimSuffix(host+"/"+path, "/")
	if err := storeError(keychain.Store(file, key, cred)); err != nil {
		return err
	}
	if a.output == outputJSON {
		return a.encode(loginResult{Version: 1, Registry: key, User: cred.Username, File: file, Checked: asked})
	}
	if !asked {
		a.say("%s asks nobody for credentials: whether these are right could not be checked", host)
	}
	_, err = fmt.Fprintf(a.stdout, "Logged in to %s as %s; the credentials are in %s.\n", key, cred.Username, file)
	return err
}

// storeError says what to do about a file that cannot be written to.
func storeError(err error) error {
	if errors.Is(err, keychain.ErrKeptByHelper) {
		return &usageError{&hintError{err, "; ", "use the tool that set that up, or name another file with --authfile"}}
	}
	return err
}

// parseRegistry takes HOST[:PORT][/PATH] apart.
func parseRegistry(place string) (host, path string, err error) {
	rest := strings.TrimSuffix(strings.TrimPrefix(place, dockerScheme), "/")
	host, path, _ = strings.Cut(rest, "/")
	// The grammar is that of references, and a repository below the path.
	ref, err := reference.Parse(host + "/" + strings.TrimPrefix(path+"/x", "/"))
	if strings.Contains(rest, "://") || err != nil || ref.Host != host || ref.Identifier() != "" {
		return "", "", usageHint("write HOST[:PORT][/PATH], such as quay.io, localhost or mirror.example.com:5000/ocp", "%q is not a registry", place)
	}
	return host, path, nil
}

// A given credential is for one host and comes from no file.
type given struct {
	host string
	cred keychain.Credential
}

func (g given) Credential(_ context.Context, host, _ string) (keychain.Credential, error) {
	if host != g.host {
		return keychain.Credential{}, nil
	}
	return g.cred, nil
}

// loginClient makes a client that shows cred to host and to no other.
func (a *app) loginClient(f loginFlags, host string, cred keychain.Credential) (*remote.Client, error) {
	conf, err := a.registries()
	if err != nil {
		return nil, err
	}
	c, err := remote.New(remote.Options{
		Side:       remote.Alone,
		Keychain:   given{host, cred},
		Registries: conf,
		CertDir:    f.certDir,
		SkipVerify: !f.tlsVerify,
		PlainHTTP:  f.plainHTTP,
		UserAgent:  "gantry/" + buildVersion(),
		Log:        a.log,
	})
	if err != nil {
		return nil, &usageError{err}
	}
	return c, nil
}

// maxPassword bounds what is read as a password, in bytes; some are tokens.
const maxPassword = 64 << 10

// askCredential reads user name and password, from in or from the person at the
// terminal that in is.
func (a *app) askCredential(f loginFlags, in io.Reader) (keychain.Credential, error) {
	var c keychain.Credential
	if !f.passwordStdin {
		file, ok := in.(*os.File)
		if !ok || !term.IsTerminal(int(file.Fd())) {
			return c, usageHint("give it with -u USER --password-stdin", "there is no terminal to ask for the password on")
		}
		state, err := term.MakeRaw(int(file.Fd()))
		if err != nil {
			return c, fmt.Errorf("asking for the password: %w", err)
		}
		c, err = prompt(struct {
			io.Reader
			io.Writer
		}{file, a.stderr}, f.user)
		return c, errors.Join(err, term.Restore(int(file.Fd()), state))
	}
	if f.user == "" {
		return c, usageHint("give the user name with -u", "--password-stdin brings the password")
	}
	text, err := io.ReadAll(io.LimitReader(in, maxPassword+1))
	if err != nil {
		return c, fmt.Errorf("reading the password from standard input: %w", err)
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
	return checkCredential(keychain.Credential{Username: f.user, Password: password})
}

// prompt asks on a terminal in raw mode, where Ctrl-C and Ctrl-D end the input.
func prompt(rw io.ReadWriter, user string) (c keychain.Credential, err error) {
	t := term.NewTerminal(rw, "User name: ")
	if user == "" {
		if user, err = t.ReadLine(); err != nil {
			return c, unanswered(rw, err)
		}
	}
	password, err := t.ReadPassword("Password: ")
	if err != nil {
		return c, unanswered(rw, err)
	}
	return checkCredential(keychain.Credential{Username: strings.TrimSpace(user), Password: password})
}

// unanswered ends the line that the question stands on.
func unanswered(screen io.Writer, err error) error {
	_, _ = io.WriteString(screen, "\r\n")
	if err == io.EOF {
		return errInterrupted
	}
	return fmt.Errorf("asking for the password: %w", err)
}

func checkCredential(c keychain.Credential) (keychain.Credential, error) {
	switch {
	case c.Username == "" || strings.Contains(c.Username, ":"):
		return keychain.Credential{}, usagef("the user name is empty or holds a colon")
	case c.Password == "":
		return keychain.Credential{}, usagef("the password is empty")
	case len(c.Password) > maxPassword || strings.ContainsAny(c.Password, "\r\n\x00"):
		return keychain.Credential{}, usagef("the password is longer than a line of %d bytes", maxPassword)
	}
	return c, nil
}
