-- twin: twt_error_shape LANGUAGE plpgsql
DECLARE
	-- All characters beyond ASCII count as letters.
	alnum CONSTANT text := concat('[^', chr(1), '-/:-@[-`{-', chr(127), ']');
	word CONSTANT text := concat('[^', chr(1), '-/:-@[-^`{-', chr(127), ']');
	domain CONSTANT text := concat('[^', chr(1), '-,./:-@[-`{-', chr(127), ']');
	mailbox CONSTANT text := concat('[^', chr(1), '-$&-*,/:-@[-^`{-', chr(127), ']');
	x CONSTANT text := '[0-9a-fA-F]';
	-- Digits, also of a time, an IPv4 address or an amount; UUID; IPv6; hexadecimal: the
	-- longest of those that begin at a place.
	number CONSTANT text := concat(
		'[0-9]+([.:,][0-9]+)*',
		'|', x, '{8}-', x, '{4}-', x, '{4}-', x, '{4}-', x, '{12}',
		'|(', x, '{0,4}:){3,7}', x, '{1,4}',
		'|0[xX]', x, '+',
		'|(?<!', word, ')(?=', x, '*[0-9])(?=', x, '*[a-fA-F])', x, '{8,}(?!', word, ')');
	shape text := left(error, 500);
BEGIN
	shape := regexp_replace(shape, '"[^"]*"', '"<text>"', 'g');
	IF strpos(shape, '''') > 0 THEN
		shape := regexp_replace(shape, concat('(?<!', alnum, ')''[^'']*''(?!', alnum, ')'), '''<text>''', 'g');
	END IF;
	IF strpos(shape, '@') > 0 THEN
		shape := regexp_replace(shape, concat('(?<!', mailbox, ')', mailbox, '+@', domain, '+([.]', domain, '+)*'), '<address>', 'g');
	END IF;
	RETURN regexp_replace(shape, number, '#', 'g');
END
