package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"
)

// The configuration's version range in the first month, and in the next.
const (
	firstMonth = "minVersion: 2.1.0"
	nextMonth  = "minVersion: 1.2.0"
)

// makeKey makes the SSH key that archives are signed with.
func (d *demo) makeKey() error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	block, err := ssh.MarshalPrivateKey(private, "demo")
	if err != nil {
		return err
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(d.dir, keyFile), pem.EncodeToMemory(block), 0o600),
		os.WriteFile(filepath.Join(d.dir, keyFile+".pub"), ssh.MarshalAuthorizedKey(key), 0o600))
}

func (d *demo) mirrorToDisk(ctx context.Context) error {
	d.title("Mirror to a disk, signed with an SSH key")
	if err := d.makeKey(); err != nil {
		return err
	}
	d.gantry(ctx, "mirror", "-c", imageSetFile, "--sign-key", keyFile, "--workspace", nearSpace, "file://"+archiveDir)
	d.list(archiveDir)
	return nil
}

func (d *demo) verifyDisk(ctx context.Context) error {
	d.title("Verify every byte of the disk and its signature")
	d.gantry(ctx, "verify", "--verify-key", keyFile+".pub", "file://"+archiveDir)
	return nil
}

func (d *demo) mirrorFromDisk(ctx context.Context) error {
	d.title("Disconnect the source, and mirror from the disk")
	d.source.unplugged.Store(true)
	defer d.source.unplugged.Store(false)
	d.gantry(ctx, "mirror", "--from", "file://"+archiveDir, "--verify-key", keyFile+".pub", "--workspace", farSpace, "docker://"+d.far.host)
	d.list(filepath.Join(farSpace, "cluster-resources"))
	return nil
}

// carryWhatIsNew changes the configuration, and carries another disk.
func (d *demo) carryWhatIsNew(ctx context.Context) error {
	d.title("A month later: " + nextMonth + " replaces " + firstMonth[len("minVersion: "):] + ", and a second disk has only what is new")
	path := filepath.Join(d.dir, imageSetFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed := bytes.Replace(text, []byte(firstMonth), []byte(nextMonth), 1)
	if bytes.Equal(changed, text) {
		return fmt.Errorf("%s has no %s", imageSetFile, firstMonth)
	}
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		return err
	}
	d.gantry(ctx, "mirror", "-c", imageSetFile, "--sign-key", keyFile, "--workspace", nearSpace, "file://"+nextDir)
	ignore := func(string, int64) {}
	first, second := d.bytesIn(archiveDir, ignore), d.bytesIn(nextDir, ignore)
	d.say("%s/ has %s, %s/ %s", archiveDir, size(first), nextDir, size(second))
	if second*2 > first {
		return fmt.Errorf("%s has %d bytes, and %s, which was to have what is new, %d", archiveDir, first, nextDir, second)
	}
	d.source.unplugged.Store(true)
	defer d.source.unplugged.Store(false)
	d.gantry(ctx, "mirror", "--from", "file://"+nextDir, "--verify-key", keyFile+".pub", "--workspace", farSpace, "docker://"+d.far.host)
	return nil
}
