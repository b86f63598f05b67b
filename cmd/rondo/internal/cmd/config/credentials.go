package config

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/term"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/internal/access"
)

const passwordHelp = `Read a password and print its bcrypt hash, for basic_auth_users in the file of rondo serve --web-config. At a terminal the
password is asked for twice and not shown. Otherwise it is the first line of standard input.`

// bcryptCost is the cost of new hashes: a check takes about a tenth of a second.
const bcryptCost = 10

// maxPassword is the longest password that bcrypt takes, in bytes.
const maxPassword = 72

func NewPassword(c *cli.Factory) *cobra.Command {
	return &cobra.Command{
		Use:   "password",
		Short: "Print the hash of a password for --web-config",
		Long:  passwordHelp,
		Args:  cli.Takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			password, err := readPassword(c.Process)
			if err != nil {
				return err
			}
			switch {
			case len(password) == 0:
				return errors.New("the password is empty")
			case len(password) > maxPassword:
				return fmt.Errorf("the password has %d bytes, at most %d are possible", len(password), maxPassword)
			}
			hash, err := bcrypt.GenerateFromPassword(password, bcryptCost)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.Stdout, "%s\n", hash)
			return err
		},
	}
}

// readPassword reads a password from a terminal, or the first line of standard input.
func readPassword(p *cli.Process) ([]byte, error) {
	f, ok := p.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		line, err := bufio.NewReader(io.LimitReader(p.Stdin, 4096)).ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
	var typed [2][]byte
	for i, prompt := range []string{"Password: ", "Again: "} {
		_, _ = fmt.Fprint(p.Stderr, prompt) // a prompt that is not seen changes nothing
		var err error
		typed[i], err = term.ReadPassword(int(f.Fd()))
		_, _ = fmt.Fprintln(p.Stderr)
		if err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(typed[0], typed[1]) {
		return nil, errors.New("the two passwords differ")
	}
	return typed[0], nil
}

const tokenHelp = `Make bearer tokens for clients of a server with --web-config.`

const tokenNewHelp = `Print a new token, and the entry for it below rondo: tokens: in the file of rondo serve --web-config. The entry has the hash
of the token only: who reads the file cannot use it. The token itself is kept nowhere.`

func NewToken(c *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make a token for clients of a server",
		Long:  tokenHelp,
	}
	var role, expires string
	var prefixes []string
	make := &cobra.Command{
		Use:   "new NAME",
		Short: "Print a new token and its hash",
		Long:  tokenNewHelp,
		Args:  cli.Takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := access.Folders(prefixes); err != nil {
				return fmt.Errorf("--prefix: %w", err)
			}
			var b [32]byte
			_, _ = rand.Read(b[:]) // never fails
			token := "rondo_" + base64.RawURLEncoding.EncodeToString(b[:])
			return printToken(c.Stdout, token, args[0], role, prefixes, expires)
		},
	}
	f := make.Flags()
	cli.AddChoice(make, &role, "read", "role", "", []string{"read", "write", "admin"}, "what its holder may do, a `role`: read, write or admin")
	f.StringSliceVar(&prefixes, "prefix", nil, "`folder` of series that it is limited to")
	f.StringVar(&expires, "expires", "", "`day` or time on which it expires: 2030-12-31, 2030-12-31T23:59:59Z")
	cmd.AddCommand(make)
	return cmd
}

// printToken prints a token, and its entry in the file.
func printToken(w io.Writer, token, name, role string, prefixes []string, expires string) error {
	entry := fmt.Sprintf("- {name: %q, role: %s, sha256: %q", name, role, webconfig.HashToken(token))
	if len(prefixes) > 0 {
		quoted := make([]string, len(prefixes))
		for i, p := range prefixes {
			quoted[i] = fmt.Sprintf("%q", p)
		}
		entry += ", prefixes: [" + strings.Join(quoted, ", ") + "]"
	}
	if expires != "" {
		if err := webconfig.CheckExpires(expires); err != nil {
			return fmt.Errorf("--expires: %w", err)
		}
		entry += fmt.Sprintf(", expires: %q", expires)
	}
	_, err := fmt.Fprintf(w, "token: %s\nentry: %s}\n", token, entry)
	return err
}
