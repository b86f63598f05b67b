// Package pagetest reads the project's pages, so that tests compare what they say with the code:
// links and headings, words in backquotes, command lines.
package pagetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A Page is one Markdown file.
type Page struct {
	Name string // its path from the root of the module, with slashes

	// Spans are the words in backquotes, Links the targets of links, Code the lines of fenced and
	// indented blocks.
	Spans, Links, Code []Piece

	anchors []string
}

// A Piece is a part of a page.
type Piece struct {
	Line int // counted from 1
	Text string
	// Lang is what stands behind the first backquotes of the block that the line is of.
	Lang string
}

// Read reads the pages of the module whose root folder is given.
func Read(root string) ([]*Page, error) {
	var all []*Page
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if e.IsDir() && strings.HasPrefix(e.Name(), ".") && rel != "." {
			return filepath.SkipDir
		}
		if e.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		all = append(all, parse(filepath.ToSlash(rel), string(text)))
		return nil
	})
	return all, err
}

// Has says whether a link to the page may name an anchor.
func (p *Page) Has(anchor string) bool { return slices.Contains(p.anchors, anchor) }

// parse takes a page apart.
func parse(name, text string) *Page {
	p := &Page{Name: name}
	var paragraph []string
	first := 0 // line of the paragraph
	flush := func() {
		p.paragraph(strings.Join(paragraph, "\n"), first)
		paragraph = nil
	}
	fenced, lang, blank := false, "", true
	for i, line := range strings.Split(text, "\n") {
		word, mark := strings.CutPrefix(line, "```")
		indented := strings.HasPrefix(line, "    ") && blank
		switch {
		case mark:
			flush()
			fenced, lang = !fenced, word
		case fenced:
			p.Code = append(p.Code, Piece{Line: i + 1, Text: line, Lang: lang})
		case indented:
			flush()
			p.Code = append(p.Code, Piece{Line: i + 1, Text: line[4:]})
			continue // the lines behind it are indented, too
		case strings.HasPrefix(line, "#"):
			flush()
			p.heading(strings.TrimSpace(strings.TrimLeft(line, "#")))
			p.paragraph(line, i+1)
		case strings.TrimSpace(line) == "":
			flush()
		default:
			if len(paragraph) == 0 {
				first = i + 1
			}
			paragraph = append(paragraph, line)
		}
		blank = !fenced && strings.TrimSpace(line) == ""
	}
	flush()
	return p
}

// heading notes the anchor of a heading, which is made as GitHub makes it.
func (p *Page) heading(title string) {
	var anchor strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			anchor.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			anchor.WriteRune(r)
		}
	}
	p.anchors = append(p.anchors, anchor.String())
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// paragraph finds the spans and links of a paragraph that begins at a line.
func (p *Page) paragraph(text string, line int) {
	var rest strings.Builder // without the spans
	for i := 0; i < len(text); {
		open := strings.IndexByte(text[i:], '`')
		if open < 0 {
			rest.WriteString(text[i:])
			break
		}
		rest.WriteString(text[i : i+open])
		i += open
		ticks := text[i : i+len(text[i:])-len(strings.TrimLeft(text[i:], "`"))]
		end := strings.Index(text[i+len(ticks):], ticks)
		if end < 0 {
			rest.WriteString(text[i:])
			break
		}
		word := text[i+len(ticks) : i+len(ticks)+end]
		p.Spans = append(p.Spans, Piece{
			Line: line + strings.Count(text[:i], "\n"),
			Text: strings.TrimSpace(strings.ReplaceAll(word, "\n", " ")),
		})
		rest.WriteString(strings.Repeat("\n", strings.Count(word, "\n")))
		rest.WriteString("x") // a link may consist of a span
		i += 2*len(ticks) + end
	}
	left := rest.String()
	for _, m := range link.FindAllStringSubmatchIndex(left, -1) {
		p.Links = append(p.Links, Piece{Line: line + strings.Count(left[:m[0]], "\n"), Text: left[m[2]:m[3]]})
	}
}
